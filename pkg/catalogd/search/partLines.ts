import type { StoredPart } from "../store/storedPart.ts";

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/** The lines of a part, without their newlines, one after another. The part must be held meanwhile. @throws Error when the file ends early. */
export async function* partLines({ file, index }: StoredPart): AsyncGenerator<string> {
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let begun: Buffer[] = [];
  for (let position = 0; position < index.bytes; ) {
    const { bytesRead } = await file.handle.read(chunk, 0, Math.min(CHUNK_BYTES, index.bytes - position), position);
    if (bytesRead === 0) throw new Error("the content file is shorter than its index says");
    position += bytesRead;
    const read = chunk.subarray(0, bytesRead);
    let start = 0;
    for (let end = read.indexOf(NEWLINE); end >= 0; end = read.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...begun, read.subarray(start, end)]).toString("utf8");
      begun = [];
      start = end + 1;
    }
    if (start < read.length) begun.push(Buffer.from(read.subarray(start)));
  }
}
