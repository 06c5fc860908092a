import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { cleanLogText, LogCleaner } from "./logText.ts";

test.for([
  ["plain\ttext\n", "plain\ttext\n"],
  ["\u001B[31mred\u001B[0m\n", "red\n"],
  ["\u001B]0;title\u0007after", "after"],
  ["\u001B]8;;http://example.com\u0007link\u001B]8;;\u0007", "link"],
  ["windows\r\nline\r\n", "windows\nline\n"],
  ["10%\r20%", "10%\\u{d}20%"],
  ["bell\u0007", "bell\\u{7}"],
  ["evil\u202Etxt\u200B", "evil\\u{202e}txt\\u{200b}"],
  ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
] as const)("cleanLogText cleans %j", ([dirty, want]) => {
  expect(cleanLogText(dirty)).toBe(want);
});

const clean = (chunks: readonly (string | Buffer)[]): Promise<string> =>
  text(Readable.from(chunks.map((one) => Buffer.from(one))).pipe(new LogCleaner()));

test("LogCleaner cleans sequences and characters that are split between chunks", async () => {
  expect(await clean(["a\u001B[3", "1mred\u001B[0", "m\nb"])).toBe("ared\nb");
  const bytes = Buffer.from("grüße\n");
  expect(await clean([bytes.subarray(0, 3), bytes.subarray(3)])).toBe("grüße\n");
});

test("LogCleaner passes on a line without end in parts", async () => {
  const line = "x".repeat(100_000);
  expect(await clean([line, line])).toBe(line + line);
});
