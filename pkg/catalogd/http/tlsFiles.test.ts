import { join } from "node:path";
import { generate } from "selfsigned";
import { Agent, request } from "undici";
import { expect, test } from "vitest";
import { TempFolder } from "../../../test/support/contentFixture.ts";
import { createLogger } from "../../telemetry/log.ts";
import { startContentServer } from "./contentServer.ts";
import { TlsFiles } from "./tlsFiles.ts";

async function pair(): Promise<{ cert: string; key: string }> {
  const made = await generate([{ name: "commonName", value: "localhost" }], { algorithm: "sha256", keyType: "ec" });
  return { cert: made.cert, key: made.private };
}

test("a renewed certificate is used for new connections; a broken one is reported and the last good one stays", async () => {
  using folder = new TempFolder();
  const lines: string[] = [];
  const log = createLogger({ component: "test", destination: { write: (line) => lines.push(line) } });
  const [first, second] = await Promise.all([pair(), pair()]);
  const write = ({ cert, key }: { cert: string; key: string }): string => folder.write("tls", { "tls.crt": cert, "tls.key": key });
  const dir = write(first);
  let apply: (() => void) | undefined;
  class Prompt extends TlsFiles {
    override onChange(use: Parameters<TlsFiles["onChange"]>[0]): () => void {
      apply = () => this.check(use);
      return super.onChange(use);
    }
  }
  const tls = new Prompt(join(dir, "tls.crt"), join(dir, "tls.key"), log);
  const server = await startContentServer({ host: "127.0.0.1", port: 0 }, { source: { get: () => undefined }, log, tls });
  const status = async (ca: string): Promise<number | string> => {
    const agent = new Agent({ connect: { ca, checkServerIdentity: () => undefined } });
    try {
      const answer = await request(`https://127.0.0.1:${server.address.port}/catalogs/x/api/v1/all`, { dispatcher: agent });
      await answer.body.dump();
      return answer.statusCode;
    } catch (err) {
      return (err as { code: string }).code;
    } finally {
      await agent.close();
    }
  };
  expect([await status(first.cert), await status(second.cert)]).toEqual([404, "DEPTH_ZERO_SELF_SIGNED_CERT"]);
  write(second);
  apply?.();
  expect([await status(first.cert), await status(second.cert)]).toEqual(["DEPTH_ZERO_SELF_SIGNED_CERT", 404]);
  write({ cert: first.cert, key: second.key });
  apply?.();
  expect(await status(second.cert)).toBe(404);
  expect(lines.join("")).toContain("new certificate cannot be used, keeping the last one");
  await server.close();
});

test("files that do not belong together stop the start", async () => {
  using folder = new TempFolder();
  const [first, second] = await Promise.all([pair(), pair()]);
  const dir = folder.write("tls", { "tls.crt": first.cert, "tls.key": second.key });
  expect(() => new TlsFiles(join(dir, "tls.crt"), join(dir, "tls.key"), createLogger({ component: "test", level: "silent" }))).toThrow();
});
