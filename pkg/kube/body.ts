/** No answer of an API server is larger; what is, is cut off with an error instead of filling the memory. */
const MAX_BODY_BYTES = 512 * 1024 * 1024;
/** etcd refuses objects over 1.5 MB and the API server requests over 3 MB; an event line holds one object. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const NEWLINE = 0x0a;

/** The whole of `body` as text. @throws Error when it is larger than half a gigabyte. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw new Error(`the answer of the API server is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Reads `body` as bytes; undefined, and the rest is not read, when it is larger than `maxBytes`. */
export async function readBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/**
 * One parsed value for each line of `body`, however the bytes are cut into chunks; empty lines are skipped, and so is a last line without
 * its end, which is what a broken connection leaves.
 * @throws SyntaxError on a line that is no JSON; Error on a line over 32 MiB.
 */
export async function* jsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator {
  let pending: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...pending, chunk.subarray(start, end)]).toString("utf8");
      pending = [];
      size = 0;
      start = end + 1;
      if (line.trim() !== "") yield JSON.parse(line);
    }
    if (start === chunk.byteLength) continue;
    pending.push(chunk.subarray(start));
    size += chunk.byteLength - start;
    if (size > MAX_LINE_BYTES) throw new Error(`an event of a watch is larger than ${MAX_LINE_BYTES} bytes`);
  }
}
