// Creates, conflicts, lists and redacts with the TypeScript SDK, and prints what it saw as one JSON object.
import Anthropic from "@anthropic-ai/sdk";

let requests = 0;
const counting = (...input) => {
  requests += 1;
  return fetch(...input);
};
const client = new Anthropic({
  baseURL: process.env.MEMORYHUB_URL,
  apiKey: process.env.MEMORYHUB_KEY,
  fetch: counting,
});
const { memories, memoryVersions } = client.beta.memoryStores;
const seen = {};

const store = await client.beta.memoryStores.create({ name: "TypeScript" });
const memory_store_id = store.id;
const made = await memories.create(memory_store_id, { path: "/a/ü.md", content: "one\n", view: "full" });
await memories.create(memory_store_id, { path: "/b.md", content: "" });
seen.made = { path: made.path, content: made.content, sha256: made.content_sha256 };

const precondition = { type: "content_sha256", content_sha256: made.content_sha256 };
const updated = await memories.update(made.id, { memory_store_id, content: "two\n", precondition });
seen.updated = { path: updated.path, content: updated.content, moved: updated.memory_version_id !== made.memory_version_id };

requests = 0;
try {
  await memories.update(made.id, { memory_store_id, content: "three\n", precondition });
} catch (error) {
  seen.conflict = {
    is_conflict_error: error instanceof Anthropic.ConflictError,
    status: error.status,
    type: error.error.error.type,
    requests,
  };
}
try {
  await memories.create(memory_store_id, { path: "/a", content: "" });
} catch (error) {
  seen.taken = { is_conflict_error: error instanceof Anthropic.ConflictError, path: error.error.error.conflicting_path };
}
try {
  await memories.retrieve("mem_unknown", { memory_store_id });
} catch (error) {
  seen.missing = { is_not_found_error: error instanceof Anthropic.NotFoundError };
}

seen.children = [];
for await (const item of memories.list(memory_store_id, { depth: 1, limit: 1 })) {
  seen.children.push([item.type, item.path]);
}
seen.versions = [];
for await (const version of memoryVersions.list(memory_store_id, { memory_id: made.id, limit: 1, view: "full" })) {
  seen.versions.push([version.operation, version.content]);
}

const redacted = await memoryVersions.redact(made.memory_version_id, { memory_store_id });
seen.redacted = { path: redacted.path, content: redacted.content, sha256: redacted.content_sha256, at: redacted.redacted_at };
seen.deleted = await memories.delete(made.id, { memory_store_id, expected_content_sha256: updated.content_sha256 });
seen.archived = (await client.beta.memoryStores.archive(memory_store_id)).archived_at;
seen.gone = (await client.beta.memoryStores.delete(memory_store_id)).type;
console.log(JSON.stringify(seen));
