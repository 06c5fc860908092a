import { createReadStream, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { ContentWorld } from "../../../test/support/contentWorld.ts";
import { describeWithData } from "../../../test/support/sharedData.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import { MIN_COMPRESSED_BYTES } from "./contentResponse.ts";
import { CACHE_LIMITS } from "./responseCache.ts";

/** A served meta and the keys to find it by. */
interface Line {
  schema: string;
  package: string;
  name: string;
  text: string;
}

type Query = Partial<Record<"schema" | "package" | "name", string>>;

async function linesOf(folder: string): Promise<Line[]> {
  const lines: Line[] = [];
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  for (const file of entries.map(({ parentPath, name }) => join(parentPath, name)).sort()) {
    for await (const { schema, package: owner, name, blob } of decodeMetas(createReadStream(file), file))
      lines.push({ schema, package: owner, name, text: `${encodeCanonicalJson(blob)}\n` });
  }
  return lines;
}

/**
 * Returns queries with every schema, some packages and names, and combinations of them, with and
 * without results.
 */
function queriesOf(lines: readonly Line[]): Query[] {
  const some = lines.filter((_, i) => i % Math.ceil(lines.length / 7) === 0);
  const schemas = [...new Set(lines.map(({ schema }) => schema))];
  return [
    {},
    ...schemas.map((schema) => ({ schema })),
    ...some.flatMap(({ schema, package: owner, name }): Query[] => [
      { package: owner },
      { name },
      { schema, name },
      { schema, package: owner },
      { schema, package: owner, name },
      { schema: "olm.channel", package: owner },
      { schema: "olm.channel", name },
      { package: owner, name: "none" },
    ]),
  ];
}

describeWithData("responses from real catalogs", (data) => {
  const folders = ["community-v4.19", "gatekeeper-4-14", "kueue-v5.0", "rhtas-v4.18"].filter((name) => existsSync(join(data, "fbc", name)));

  test.for(folders)(
    "every query of %s returns exactly the matching lines in every content coding",
    { timeout: 120_000 },
    async (folder) => {
      const lines = await linesOf(join(data, "fbc", folder));
      const world = await ContentWorld.start({ real: lines.map(({ text }) => text).join("") });
      try {
        for (const query of queriesOf(lines)) {
          const wanted = Object.entries(query).filter(([, value]) => value !== "") as [keyof Query, string][];
          const found = lines.filter((line) => wanted.every(([key, value]) => line[key] === value));
          const want = found.map(({ text }) => text).join("");
          const path = `/catalogs/real/api/v1/metas?${new URLSearchParams(query).toString()}`;
          for (const [coding, decoded] of Object.entries({
            identity: (body: Buffer) => body,
            gzip: gunzipSync,
            zstd: zstdDecompressSync,
          })) {
            const { status, headers, body } = await world.call("GET", path, { "accept-encoding": coding });
            const applied = headers["content-encoding"] ?? "identity";
            expect(status).toBe(200);
            // Only responses that fit into the cache are compressed with zstd; gzip is available for
            // all.
            if (coding !== "zstd" || want.length <= CACHE_LIMITS.entry)
              expect(applied).toBe(want.length < MIN_COMPRESSED_BYTES ? "identity" : coding);
            const text = (applied === "identity" ? body : decoded(body)).toString();
            expect(text === want, `${path} as ${coding}: ${text.length} instead of ${want.length} characters`).toBe(true);
          }
        }
      } finally {
        await world.close();
      }
    },
  );
});
