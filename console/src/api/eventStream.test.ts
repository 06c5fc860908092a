import { expect, test } from "vitest";
import { parseEvent, readEventStream } from "./eventStream.ts";

test.each([
  { block: ": comment", expected: undefined },
  { block: "retry: 1000", expected: undefined },
  { block: "id: a:1\ndata: {}", expected: { id: "a:1", data: "{}" } },
  { block: "data:first\r\ndata: second", expected: { id: undefined, data: "first\nsecond" } },
  { block: "data: a: b", expected: { id: undefined, data: "a: b" } },
])("parseEvent returns the message of $block", ({ block, expected }) => {
  expect(parseEvent(block)).toEqual(expected);
});

/** Returns a response that sends the parts one after the other, and then stays open unless it ends. */
function createResponse(parts: readonly string[], ends: boolean): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const part of parts) controller.enqueue(encoder.encode(part));
      if (ends) controller.close();
    },
  });
  return new Response(body);
}

test("readEventStream yields messages when their bytes arrive in parts", async () => {
  const events = [];
  for await (const event of readEventStream(
    createResponse([": hi\n", "\nid: 1\nda", "ta: x\n\ndata", ": y\r\n\r\ndata: lost"], true),
    1_000,
  ))
    events.push(event);
  expect(events).toEqual([
    { id: "1", data: "x" },
    { id: undefined, data: "y" },
  ]);
});

test("readEventStream fails when the server is silent for too long", async () => {
  const events = readEventStream(createResponse(["data: x\n\n"], false), 30);
  expect(await events.next()).toMatchObject({ value: { data: "x" } });
  await expect(events.next()).rejects.toThrow("silent");
});
