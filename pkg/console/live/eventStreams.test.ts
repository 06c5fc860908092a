import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { LoopbackApi } from "../../../test/support/loopbackApi.ts";
import { RawConnection } from "../../../test/support/rawConnection.ts";
import { findMessage, OlmApi, readStream, TestConsole, type TestStreamMessage } from "../../../test/support/testConsole.ts";

const MIB = 1024 * 1024;

describe("event streams", () => {
  let olm: OlmApi;
  let api: LoopbackApi;
  let console: TestConsole;
  let headers: Record<string, string>;
  let stop: AbortController;
  beforeEach(async () => {
    stop = new AbortController();
    olm = new OlmApi();
    api = await LoopbackApi.start(olm.answer);
    olm.add("argocd");
    console = await TestConsole.start({ credentials: api.credentials(), mode: "laptop" });
    headers = await console.logIn();
  });
  afterEach(async () => {
    stop.abort();
    await console[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  });
  const open = (more: Record<string, string> = {}) => readStream(console.url, { ...headers, ...more }, stop.signal);
  const isCurrent = ({ update }: TestStreamMessage): boolean => update.watches.extensions.state === "current";
  const names = ({ update }: TestStreamMessage): string[] => update.extensions.changed.map(({ name }) => name);

  test("a client that resumes gets only the changes since its last message", async () => {
    const { id } = await findMessage(open(), isCurrent);
    olm.add("grafana");
    const next = await findMessage(open({ "last-event-id": id }), ({ update }) => update.extensions.changed.length > 0);
    expect([next.update.isReset, names(next)]).toEqual([false, ["grafana"]]);
  });

  test("a client that resumes gets all rows when the console was restarted, or when the identifier is invalid", async () => {
    const { id } = await findMessage(open(), isCurrent);
    await using other = await TestConsole.start({ credentials: api.credentials(), mode: "laptop" });
    const own = await other.logIn();
    await findMessage(readStream(other.url, own, stop.signal), isCurrent);
    const first = await findMessage(readStream(other.url, { ...own, "last-event-id": id }, stop.signal), () => true);
    expect([first.update.isReset, names(first)]).toEqual([true, ["argocd"]]);
    for (const wrong of ["x", "0:0", "../../etc/passwd", "9".repeat(5_000)]) {
      const message = await findMessage(open({ "last-event-id": wrong }), () => true);
      expect([message.update.isReset, names(message)]).toEqual([true, ["argocd"]]);
    }
  });

  test("a client that does not read costs at most one message, and then gets the newest state", async () => {
    await findMessage(open(), isCurrent);
    const slow = await RawConnection.open(console.port, { reading: false });
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    slow.write(`GET /api/events HTTP/1.1\r\nHost: ${console.host}\r\n${lines.join("\r\n")}\r\n\r\n`);
    await eventually(() => expect(console.server.streamCount).toBeGreaterThanOrEqual(1));
    const before = process.memoryUsage().arrayBuffers;
    const fast = open();
    for (let round = 1; round <= 200; round++) {
      olm.touch("argocd");
      for (let i = 0; i < 200; i++) olm.touch(`extension-${i}`);
      await findMessageOf(fast, `extension-199`);
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * MIB);
    olm.add("newest");
    slow.socket.resume();
    await eventually(() => expect(slow.text).toContain('"name":"newest"'));
    expect(slow.bytes).toBeLessThan(16 * MIB);
    slow.close();
    await eventually(() => expect(console.server.streamCount).toBeLessThanOrEqual(2));
  });

  test("a stream ends when its client disconnects, also before the first message", async () => {
    for (let i = 0; i < 20; i++) {
      const connection = await RawConnection.open(console.port);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      connection.write(`GET /api/events HTTP/1.1\r\nHost: ${console.host}\r\n${lines.join("\r\n")}\r\n\r\n`);
      connection.close();
    }
    await eventually(() => expect(console.server.streamCount).toBe(0));
  });
});

/** Reads a stream, without ending it, up to the message with an extension. */
async function findMessageOf(stream: AsyncGenerator<TestStreamMessage>, name: string): Promise<void> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error("the event stream ended");
    if (value.update.extensions.changed.some((row) => row.name === name)) return;
  }
}
