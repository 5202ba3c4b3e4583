"""Small hostile inputs, with the verdict each must get where a verdict can be given without knowing the route."""

# No JSON route accepts any of these bodies: each breaks the grammar, or the rules of what is kept, whatever the fields.
BODIES: dict[str, bytes] = {
    "an escaped NUL in a string": b'{"name":"a\\u0000b","content":"a\\u0000b"}',
    "an escaped NUL deep inside": b'{"metadata":{"k":"a\\u0000b"}}',
    "an escaped NUL in a key": b'{"metadata":{"a\\u0000b":"1"}}',
    "a raw NUL": b'{"name":"a\x00b"}',
    "half a surrogate pair, high": b'{"name":"\\ud800","content":"\\ud800"}',
    "half a surrogate pair, low, deep inside": b'{"metadata":{"k":"\\udc00"}}',
    "a surrogate pair in the wrong order": b'{"content":"\\udc00\\ud800"}',
    "half a pair in a key": b'{"\\ud800":1}',
    "bytes that are no UTF-8": b'{"content":"\xff\xfe"}',
    "an overlong slash": b'{"path":"\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"content":"\xed\xa0\x80"}',
    "a cut UTF-8 sequence": b'{"content":"\xe2\x82"}',
    "UTF-16": '{"name":"x"}'.encode("utf-16"),
    "UTF-32": '{"name":"x"}'.encode("utf-32"),
    "a byte order mark": b'\xef\xbb\xbf{"name":"x"}',
    "UTF-7": b"+AHs-+ACI-name+ACI-:+ACI-x+ACI-+AH0-",
    "NaN": b'{"limit":NaN}',
    "negative infinity": b'{"overlap_seconds":-Infinity}',
    "a number beyond doubles": b'{"overlap_seconds":1e999}',
    "an integer beyond 64 bits": b'{"limit":9223372036854775808}',
    "an integer of 5,000 digits": b'{"limit":' + b"9" * 5_000 + b"}",
    "a repeated key": b'{"name":"a","name":"b","content":"a","content":"b"}',
    "a key repeated by an escape": b'{"name":"a","n\\u0061me":"b"}',
    "a repeated key deep inside": b'{"metadata":{"k":"a","k":"b"}}',
    "200 levels": b'{"metadata":' + b"[" * 200 + b"]" * 200 + b"}",
    "100,000 levels, closed": b'{"metadata":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 levels, open": b"[" * 100_000,
    "5,000 objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "two objects": b'{"name":"x"}{"name":"y"}',
    "an object and more": b'{"name":"x"} trailing',
    "a trailing comma": b'{"name":"x",}',
    "single quotes": b"{'name':'x'}",
    "a comment": b'{"name":"x" /* y */}',
    "null": b"null",
    "a list": b'[{"name":"x"}]',
    "a string": b'"x"',
    "a number": b"1",
    "__proto__": b'{"__proto__":{"admin":true}}',
    "the scope fields of a row": b'{"project_id":"proj_1","environment_id":"env_1","id":"x","created_by":{}}',
    "an operator of a query language": b'{"name":{"$ne":null}}',
    "a name of a column and a lookup": b'{"name__startswith":"a","x\') OR (\'1\'=\'1":1}',
    "form fields": b"name=x&content=y",
}

# Kept byte for byte: the digest is of the text as sent.
KEPT = [
    "", " ", "\n", "  blanks around  ", "\ttab\t", "a\r\nb\rc\n", "e\u0301 and \u00e9", "\u200b", "\ufeffmark", "a\ufeff", "\u2028\u2029",
    "\U0001f469\u200d\U0001f680", "\u202etxt.exe", "\u2066\u2069", "\x01\x07\x1b[31m\x7f\x85", "\u0378\ue000\ufffe\uffff", "\U0010ffff",
    "<script>alert(1)</script>", "</textarea><img src=x onerror=alert(1)>", "=cmd|'/c calc'!A1", "{{7*7}}{% load x %}", "${jndi:ldap://x}",
    "'; DROP TABLE stores_memory; --", "%s %(x)s {0}", "\\u0000 written out", "null", "\u1e9e\u0130\u0131", "\u0627\u064e\u0644\u0644",
    "a" * 5_000, "\u00e9" * 5_000,
]  # fmt: skip

# (path, whether the API takes it). Source: contract stores 3.4.
PATHS: list[tuple[str, bool]] = [
    *[(path, True) for path in (
        "/a", "/a/b.md", "/notes/2026-01-01 plan.md", "/\u00e9", "/\u4e2d\u6587.md", "/.hidden", "/a..b", "/...", "/..a", "/a.", "/a ", "/ a",
        "/%2e%2e/x", "/%00", "/~root", "/$HOME", "/-rf", "/a:b", "/a*", "/a?b", '/a"b', "/a<b>", "/a|b", "/C:/x", "/a\\b", "/..\\..\\x", "/con",
        "/NUL.txt", "/\ufb01", "/x#y", "/a&b=c", "/a;b", "/'; DROP TABLE x; --", "/{store_id}", "/\U0001f600", "/\u0378", "/\ue000",
        "/" + "x" * 256, "/" + "x" * 1_023, "/" + "\u00e9" * 511, "/".join(["", *"d" * 20]), "/d/.anthropic-memory-store", "/index.html", "/.git/config",
    )],
    *[(path, False) for path in (
        "", "a", "/", "//", "//a", "/a//b", "/a/", "/a/./b", "/a/../b", "/..", "/a/..", "/.", "../etc/passwd", "/../../etc/passwd", "/a\0b", "/a\nb",
        "/a\rb", "/a\tb", "/a\x1b[31m", "/a\x7f", "/a\x85b", "/e\u0301", "/\u212b", "/a\u200b", "/\u202etxt.exe", "/a\u2066b", "/\ufeffa", "/a\u00adb",
        "/a\u2028b", "/a\u2029b", "/a\U000e0041", "/.anthropic-memory-store", "/.memoryhub-store", "/" + "x" * 1_024, "/" + "\u00e9" * 512,
        "/".join(["", *"d" * 21]),
    )],
]  # fmt: skip
