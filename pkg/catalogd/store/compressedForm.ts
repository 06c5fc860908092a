import { link, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { Compressor } from "./compressor.ts";
import type { ContentIndex } from "./contentIndex.ts";
import { type Encoding, FILE_SUFFIX, MAKER } from "./encodings.ts";
import { undefinedIfMissing } from "./fileErrors.ts";
import { checkFile } from "./heldFile.ts";
import { type PartName, partFile } from "./parts.ts";
import { readSealed, writeSealed } from "./sealedFile.ts";
import { words } from "./storedIndex.ts";
import type { OpenForm } from "./storedPart.ts";

const Description = z.object({ maker: z.string(), tag: z.string(), bytes: z.int(), crc32: z.int() });

/** A compressed form of a part in the folder of a content: a file, and beside it a small one that says what it is and where each line's segment ends. */
export class CompressedForm {
  readonly #file: string;
  readonly #encoding: Encoding;
  readonly #index: ContentIndex;

  constructor(dir: string, part: PartName, encoding: Encoding, index: ContentIndex) {
    this.#file = join(dir, partFile(part));
    this.#encoding = encoding;
    this.#index = index;
  }

  /** Opens it when it is whole and made as it would be made now; undefined otherwise, and what was there is then gone. */
  async open(): Promise<OpenForm | undefined> {
    const found = await this.#read().catch(() => undefined); // it can be made again, so it does not matter why it cannot be read
    if (!found) for (const path of [this.#description, this.#target]) await rm(path, { force: true, recursive: true });
    return found;
  }

  /** Reads it whole; undefined when it is not there or was made otherwise. @throws Error when it is not what was written. */
  async #read(): Promise<OpenForm | undefined> {
    const sealed = await readSealed(this.#description).catch(undefinedIfMissing);
    if (!sealed) return undefined;
    const said = Description.safeParse(sealed.value);
    if (!said.success || said.data.maker !== MAKER[this.#encoding] || said.data.tag !== this.#index.tag) return undefined;
    const handle = await open(this.#target);
    try {
      await checkFile(handle, said.data);
    } catch (err) {
      await handle.close();
      throw err;
    }
    const [segments] = sealed.columns;
    return { handle, bytes: said.data.bytes, segments: segments && words(segments) };
  }

  /** @throws DamagedError when the part itself is not what its index says; Error when there is no room, say. */
  async make(compressor: Compressor, signal: AbortSignal): Promise<OpenForm> {
    const [target, description] = [`${this.#target}.tmp`, `${this.#description}.tmp`];
    try {
      const task = { encoding: this.#encoding, from: this.#file, index: this.#index, to: target };
      const { segments, ...made } = await compressor.make(task, signal);
      const said: z.input<typeof Description> = { maker: MAKER[this.#encoding], tag: this.#index.tag, ...made };
      await writeSealed(description, said, segments ? [segments] : []);
      await rename(target, this.#target);
      await rename(description, this.#description);
      return { handle: await open(this.#target), bytes: made.bytes, segments };
    } catch (err) {
      for (const path of [target, description]) await rm(path, { force: true });
      throw err;
    }
  }

  /** Takes over the files of a form of an equal part. */
  async inherit(from: CompressedForm): Promise<void> {
    await link(from.#target, this.#target).catch(undefinedIfMissing);
    await link(from.#description, this.#description).catch(undefinedIfMissing);
  }

  get #target(): string {
    return `${this.#file}${FILE_SUFFIX[this.#encoding]}`;
  }

  get #description(): string {
    return `${this.#target}.index`;
  }
}
