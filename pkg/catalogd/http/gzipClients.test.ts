import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer, request as plainRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { createGunzip, gunzipSync } from "node:zlib";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findChromium, withPage } from "../../../test/support/chromium.ts";
import { ContentWorld, type Got } from "../../../test/support/contentWorld.ts";

const run = promisify(execFile);
const WORDS = ["a", "b", "c"] as const;
/** Values of a query parameter; "" omits the parameter. */
const ASKED = [...WORDS, ""] as const;
const BASE = "/catalogs/random/api/v1";

/**
 * Lines of different lengths: some have a few bytes, some are larger than one compression block,
 * some are incompressible.
 */
const lines = fc
  .array(
    fc.record({
      schema: fc.constantFrom(...WORDS),
      package: fc.constantFrom(...WORDS, undefined),
      name: fc.constantFrom(...WORDS, undefined),
      text: fc.oneof(
        { weight: 4, arbitrary: fc.string({ unit: "grapheme", maxLength: 200 }) },
        { weight: 2, arbitrary: fc.nat(5_000).map((length) => "lorem ipsum ".repeat(length / 12)) },
        { weight: 1, arbitrary: fc.base64String({ minLength: 5_000, maxLength: 20_000 }) },
      ),
    }),
    { minLength: 60, maxLength: 120 },
  )
  .map((entries) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
const LONG = `${JSON.stringify({ schema: "long", package: "a", text: "0123456789 long ".repeat(200_000) })}\n`;

const query = fc
  .record({ schema: fc.constantFrom(...ASKED, "long"), package: fc.constantFrom(...ASKED), name: fc.constantFrom(...ASKED) })
  .map((one) => `${BASE}/metas?${new URLSearchParams(one).toString()}`);
/** All combinations of the query parameters. */
const QUERIES = [
  `${BASE}/all`,
  ...[...ASKED, "long"].flatMap((schema) => ASKED.map((packageName) => `${BASE}/metas?schema=${schema}&package=${packageName}`)),
];

describe("a compressed response decompresses to the uncompressed response", () => {
  let world: ContentWorld;
  beforeAll(async () => {
    const [text = ""] = fc.sample(lines, { seed: Number(process.env["OLMV1_TEST_SEED"] ?? 7), numRuns: 1 });
    world = await ContentWorld.start({ random: `${text}${LONG}${text}`, empty: "" });
  });
  afterAll(() => world.close());

  const plain = (path: string): Promise<Got> => world.get(path);
  const gzipped = (path: string): Promise<Got> => world.get(path, { "accept-encoding": "gzip" });

  test("compressed response is correct in Node, both at once and in chunks", async () => {
    let compressed = 0;
    await fc.assert(
      fc.asyncProperty(query, fc.integer({ min: 1, max: 5_000 }), async (path, pieceBytes) => {
        const [want, got] = [await plain(path), await gzipped(path)];
        if (want.body.length < 1_024) {
          expect([got.headers["content-encoding"], got.body]).toEqual([undefined, want.body]);
          return;
        }
        compressed++;
        expect([got.headers["content-encoding"], got.headers["content-length"]]).toEqual(["gzip", String(got.body.length)]);
        expect(gunzipSync(got.body).equals(want.body)).toBe(true);
        const pieces = Array.from({ length: Math.ceil(got.body.length / pieceBytes) }, (_, i) =>
          got.body.subarray(i * pieceBytes, (i + 1) * pieceBytes),
        );
        expect(Buffer.concat(await Readable.from(pieces).pipe(createGunzip()).toArray()).equals(want.body)).toBe(true);
      }),
      { numRuns: 60 },
    );
    expect(compressed).toBeGreaterThan(10);
  });

  test("compressed response to a query that matches all lines has the same bytes as the response of the all endpoint", async () => {
    expect((await gzipped(`${BASE}/metas`)).body.equals((await gzipped(`${BASE}/all`)).body)).toBe(true);
  });

  test("compressed response is correct in curl", async () => {
    for (const path of QUERIES) {
      const flags = ["-sS", "-H", "Accept-Encoding: gzip", "--compressed", "-w", "%{stderr}%{size_download}"];
      const { stdout, stderr } = await run("curl", [...flags, `http://127.0.0.1:${world.port}${path}`], {
        encoding: "buffer",
        maxBuffer: 64 * 1024 * 1024,
      });
      expect(stdout.equals((await plain(path)).body)).toBe(true);
      expect(stderr.toString()).toBe(String((await gzipped(path)).body.length));
    }
  });

  const chromium = findChromium();
  if (!chromium) console.log("skipped: chromium not found; install it or set OLMV1_CHROMIUM to test gzip responses in a browser");
  test.skipIf(!chromium)("compressed response is correct in a browser", { timeout: 120_000 }, async () => {
    const seen = Promise.withResolvers<Record<string, [hash: string, encoding: string | null]>>();
    const server = await pageServer(world.port, seen.resolve);
    const { port } = server.address() as AddressInfo;
    const found = await withPage(chromium ?? "", `http://127.0.0.1:${port}/page`, seen.promise).finally(() => server.close());
    expect(Object.keys(found)).toEqual(QUERIES);
    for (const [path, [hash, encoding]] of Object.entries(found)) {
      const { body } = await plain(path);
      expect([path, hash]).toEqual([path, createHash("sha256").update(body).digest("hex")]);
      if (path.includes("metas") && body.length >= 1_024) expect([path, encoding]).toEqual([path, "gzip"]);
    }
  });
});

/**
 * Serves a page that requests all QUERIES and sends the hashes of the responses. The content server
 * has the same address.
 */
async function pageServer(content: number, seen: (found: Record<string, [string, string | null]>) => void): Promise<Server> {
  const script = `
    const found = {};
    for (const path of ${JSON.stringify(QUERIES)}) {
      const answer = await fetch(path);
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await answer.arrayBuffer()));
      found[path] = [Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join(""), answer.headers.get("content-encoding")];
    }
    await fetch("/found", { method: "POST", body: JSON.stringify(found) });`;
  const server = createServer((request, response) => {
    const { url = "", headers } = request;
    if (url === "/page") response.setHeader("content-type", "text/html").end(`<script type="module">${script}</script>`);
    else if (url === "/found") {
      void request.toArray().then((pieces: Buffer[]) => seen(JSON.parse(Buffer.concat(pieces).toString())));
      response.end();
    } else
      plainRequest({ host: "127.0.0.1", port: content, path: url, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
