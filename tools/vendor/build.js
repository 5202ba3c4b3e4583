// Bundles entry.js into static/vendor/codemirror.js and copies htmx, each with its licence on top.
const { readFileSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { buildSync } = require("esbuild");

const vendor = join(__dirname, "../../static/vendor");
const read = (name) => readFileSync(join(__dirname, "node_modules", name), "utf8");
const banner = (title, text) => `/*!\n${title}\n\n${text.trim()}\n*/\n`;

const { metafile, outputFiles } = buildSync({
  absWorkingDir: __dirname, entryPoints: ["entry.js"], bundle: true, minify: true, format: "esm", target: "es2022",
  legalComments: "eof", metafile: true, write: false,
});
const inside = new Set(Object.keys(metafile.inputs).map((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean));
const packages = [...inside].sort().map((name) => ({ name, version: JSON.parse(read(`${name}/package.json`)).version, licence: read(`${name}/LICENSE`) }));
const holders = new Set(packages.map(({ licence }) => licence.match(/^Copyright.*$/m)[0]));
const terms = packages[0].licence.replace(/^[^]*?^Copyright.*$\n+/m, "");
const title = `CodeMirror 6: ${packages.map(({ name, version }) => `${name} ${version}`).join(", ")}`;
writeFileSync(join(vendor, "codemirror.js"), banner(title, `MIT License\n\n${[...holders].sort().join("\n")}\n\n${terms}`) + outputFiles[0].text);

const htmx = JSON.parse(read("htmx.org/package.json")).version;
writeFileSync(join(vendor, "htmx.min.js"), banner(`htmx ${htmx}`, read("htmx.org/LICENSE")) + read("htmx.org/dist/htmx.min.js"));
