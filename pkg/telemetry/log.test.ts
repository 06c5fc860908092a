import { expect, test } from "vitest";
import { redactSecrets } from "../text/redact.ts";
import { createLogger, formatPrettyLine } from "./log.ts";

const TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQifQ.c2lnbmF0dXJl";

function lineOf(write: (log: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger({ component: "test", level: "debug", destination: { write: (line) => lines.push(line) } }));
  return lines.join("");
}

test("a log line contains level, time, component, message and fields", () => {
  const line = JSON.parse(lineOf((log) => log.child({ controller: "c" }).info({ bundle: "x.v1" }, "bundle resolved"))) as object;
  expect(line).toEqual({
    level: 30,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    component: "test",
    controller: "c",
    bundle: "x.v1",
    msg: "bundle resolved",
  });
});

test.for<[string, object]>([
  ["a token", { token: "s3cret-value" }],
  ["request headers", { request: { headers: { authorization: "Bearer s3cret-value" } } }],
  ["a header in Go's spelling", { headers: { Authorization: "s3cret-value" } }],
  ["a registry's credentials", { auth: { username: "jane", password: "s3cret-value" } }],
  ["a docker config's identity token", { auths: { "quay.io": { identitytoken: "s3cret-value" } } }],
  ["a kubeconfig's key", { user: { "client-key-data": "s3cret-value" } }],
])("%s is redacted by its field name", ([, fields]) => {
  const line = lineOf((log) => log.info(fields, "request"));
  expect(line).not.toContain("s3cret-value");
  expect(line).toContain("[redacted]");
});

test.for<[string, (log: ReturnType<typeof createLogger>) => void]>([
  ["a field with another name", (log) => log.info({ deep: { er: { and: { deeper: [`got ${TOKEN}`] } } } }, "x")],
  ["a message", (log) => log.info(`refused ${TOKEN}`)],
  ["an error and its cause", (log) => log.error({ err: new Error(`token ${TOKEN}`, { cause: new Error(TOKEN) }) }, "failed")],
  ["a child's binding", (log) => log.child({ who: TOKEN }).info("x")],
])("a JSON Web Token in %s is redacted by its format", ([, write]) => {
  const line = lineOf(write);
  expect(line).not.toContain("eyJ");
  expect(line).toContain("[redacted]");
});

test.for<[string, string]>([
  ["authorization: Basic amFuZTpwdw==", "authorization: Basic [redacted]"],
  ["Authorization: Bearer abcDEF123456", "Authorization: Bearer [redacted]"],
  ["https://jane:pw@quay.io/v2/", "https://[redacted]@quay.io/v2/"],
  ["Basic authentication failed", "Basic authentication failed"],
  ['www-authenticate: Bearer realm="https://auth.example/token"', 'www-authenticate: Bearer realm="https://auth.example/token"'],
  ["image quay.io/a/b@sha256:0123456789abcdef", "image quay.io/a/b@sha256:0123456789abcdef"],
])("%s is logged as %s", ([text, want]) => {
  expect(redactSecrets(text)).toBe(want);
});

test("an error is logged with type, text and plain fields, without attached objects", () => {
  class RequestError extends Error {
    readonly status = 403;
    readonly request = { body: "private" };
  }
  const line = JSON.parse(lineOf((log) => log.error({ err: new RequestError("no") }, "failed"))) as { err: object };
  expect(line.err).toMatchObject({ type: "RequestError", message: "no", status: 403 });
  expect(line.err).not.toHaveProperty("request");
});

test("debug lines are written only at level debug", () => {
  const lines: string[] = [];
  const log = createLogger({ component: "test", destination: { write: (line) => lines.push(line) } });
  log.debug("quiet");
  log.info("loud");
  expect(lines).toHaveLength(1);
});

test("a pretty line contains time, level, component, message and fields", () => {
  const line = JSON.stringify({
    level: 40,
    time: "2026-01-02T03:04:05.678Z",
    component: "catalogd",
    catalog: "c",
    n: 2,
    err: { message: "no" },
    msg: "retrying",
  });
  expect(formatPrettyLine(line, false)).toBe("03:04:05.678 WARN  catalogd retrying catalog=c n=2 err=no");
  expect(formatPrettyLine(line, true)).toContain("\u001b[33mWARN ");
  expect(formatPrettyLine("not json", false)).toBe("not json");
  const forged = JSON.stringify({ level: 30, time: 0, msg: "m", name: "a\n00:00:00.000 ERROR x", title: "\u001b[2Jb", list: ["\u001b"] });
  expect(formatPrettyLine(forged, false)).toBe('00:00:00.000 INFO  m name=a\\n00:00:00.000 ERROR x title=\\u{1b}[2Jb list=["\\u001b"]');
});

test("createLogger writes lines in the pretty format when pretty is true", () => {
  const lines: string[] = [];
  createLogger({ component: "dev", pretty: true, destination: { write: (line) => lines.push(line) } }).info({ a: 1 }, "started");
  expect(lines.join("")).toMatch(/^[\d:.]{12} INFO {2}dev started a=1\n$/);
});
