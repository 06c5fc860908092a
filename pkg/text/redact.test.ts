import * as fc from "fast-check";
import { expect, test } from "vitest";
import { redactUserinfo } from "./redact.ts";

test.for<[text: string, want: string]>([
  ["http://user:secret@proxy:3128", "http://[redacted]@proxy:3128"],
  ["http://token@proxy", "http://[redacted]@proxy"],
  ["socks5://u:p@ss@proxy/x@y", "socks5://[redacted]@proxy/x@y"],
  ['{"url":"http://proxy:3128","mail":"a@b"}', '{"url":"http://proxy:3128","mail":"a@b"}'],
  ['two: "http://a:b@c", "https://d:e@f/g"', 'two: "http://[redacted]@c", "https://[redacted]@f/g"'],
  ["http://proxy:3128/?mail=a@b", "http://proxy:3128/?mail=a@b"],
  ["docker://quay.io/p@sha256:1, quay.io/p@sha256:1", "docker://quay.io/p@sha256:1, quay.io/p@sha256:1"],
])("redactUserinfo converts %j to %j", ([text, want]) => {
  expect(redactUserinfo(text)).toBe(want);
});

test("redactUserinfo removes a password with any characters that are possible in a URL", () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9!$&'()*+,;=:@._~%-]{1,20}$/).map((text) => `s3cr3t${text}`);
  fc.assert(
    fc.property(fc.string(), secret, fc.string(), (before, password, after) => {
      expect(redactUserinfo(`${before} http://user:${password}@proxy:3128 ${after}`)).not.toContain("s3cr3t");
    }),
  );
});
