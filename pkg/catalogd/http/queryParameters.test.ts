import { describe, expect, test } from "vitest";
import * as z from "zod";
import { FIRST_OF_EACH, parseQueryString } from "./queryParameters.ts";

const Query = z.strictObject({
  limit: z.coerce.number().int().min(1).max(10).default(5),
  text: z.string().max(8).optional(),
  arch: z.array(z.string()).optional(),
  deprecated: z.stringbool({ truthy: ["true"], falsy: ["false"] }).optional(),
});

describe("parameters", () => {
  test.for<[string, object]>([
    ["", { limit: 5 }],
    ["limit=3&text=a%20b+c", { limit: 3, text: "a b c" }],
    ["arch=amd64", { limit: 5, arch: ["amd64"] }],
    ["arch=amd64&arch=arm64&&deprecated=false", { limit: 5, arch: ["amd64", "arm64"], deprecated: false }],
  ])("parseQueryString parses %j", ([query, values]) => {
    expect(parseQueryString(Query, query)).toEqual({ ok: true, values });
  });

  test.for<[string, string]>([
    ["limit=0", "limit: Too small"],
    ["limit=x", "limit: Invalid input"],
    ["limit=1&limit=2", 'parameter "limit" is set 2 times. Set it only once'],
    ["text=123456789", "text: Too big"],
    ["nothing=1", 'unknown parameter "nothing" (supported: limit, text, arch, deprecated)'],
    ["constructor=1", 'unknown parameter "constructor"'],
    ["text=%zz", "invalid escape or a semicolon"],
    ["text=a;b", "invalid escape or a semicolon"],
    ["deprecated=perhaps", "deprecated: "],
    [`${"x".repeat(500)}=1`, `unknown parameter "${"x".repeat(64)}…" (`],
  ])("parseQueryString rejects %s", ([query, problem]) => {
    expect(parseQueryString(Query, query)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  });

  test("parseQueryString uses the first value of a repeated parameter if the schema allows repeated parameters", () => {
    const schema = z.strictObject({ name: z.string().optional() }).meta(FIRST_OF_EACH);
    expect(parseQueryString(schema, "name=a&name=b")).toEqual({ ok: true, values: { name: "a" } });
    expect(parseQueryString(schema, "name=a&other=b&other=c")).toEqual({ ok: false, problem: expect.stringContaining('"other"') });
  });

  test("a parameter named __proto__ does not change the prototype of the parsed values", () => {
    const parsed = parseQueryString(z.object({ a: z.string().optional() }), "__proto__=1&a=2");
    expect(parsed).toEqual({ ok: true, values: { a: "2" } });
    expect(parsed.ok && Object.getPrototypeOf(parsed.values)).toBe(Object.prototype);
  });
});
