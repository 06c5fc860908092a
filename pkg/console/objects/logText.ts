import { Transform, type TransformCallback } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";
import { escapeControlCharacters } from "../../text/escape.ts";

/** Maximum length of a line that is held until it is complete, in characters. */
const MAX_LINE = 32 * 1024;

/** Returns text of a log without terminal sequences such as colours. Other control characters and bidi characters become visible escapes. */
export function cleanLogText(text: string): string {
  const plain = stripVTControlCharacters(text).replaceAll(/\r+(?=\n|$)/g, "");
  return plain
    .split("\t")
    .map((part) => escapeControlCharacters(part))
    .join("\t");
}

/** Cleans a log line by line, so that no sequence is split between two chunks. A very long line is passed on in parts. */
export class LogCleaner extends Transform {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const text = this.#rest + this.#decoder.write(chunk);
    const end = text.lastIndexOf("\n") + 1;
    this.#rest = text.slice(end);
    const isLong = this.#rest.length > MAX_LINE;
    const ready = isLong ? text : text.slice(0, end);
    if (isLong) this.#rest = "";
    done(null, ready === "" ? undefined : cleanLogText(ready));
  }

  override _flush(done: TransformCallback): void {
    const last = this.#rest + this.#decoder.end();
    done(null, last === "" ? undefined : cleanLogText(last));
  }
}
