import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import { createGunzip, createGzip } from "node:zlib";
import * as z from "zod";
import type { KubeObject } from "../api/k8s.ts";
import { TerminalError } from "../errors/errors.ts";
import { parseExactJson, writeExactJson } from "../golang/json.ts";
import { goQuote } from "../golang/quote.ts";
import { isCrd } from "../release/identity.ts";

/** The format of the file: compressed lines of JSON. Another number is another format. */
const FORMAT = "olmv1-backup/1";
/** Maximum length of a line, in characters. The API server stores objects of up to 1.5 MiB. */
const LINE_MAX = 16 * 1024 * 1024;

const Head = z.object({ format: z.string(), extension: z.string(), createdAt: z.string() });
const Item = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), uid: z.string(), namespace: z.string().optional() }),
});
const End = z.object({ sha256: z.string(), crds: z.number(), objects: z.number() });

/** The first line of a backup. */
export type BackupHead = Omit<z.infer<typeof Head>, "format">;
/** The last line of a backup. `sha256` is that of all lines before it. */
export type BackupEnd = z.infer<typeof End>;

/**
 * Writes a backup: CustomResourceDefinitions, then their custom resources, in the given order.
 * @param path must not exist; it appears only when the backup is complete
 * @throws the error of `items`; Error with code EEXIST
 */
export async function writeBackupFile(path: string, head: BackupHead, items: AsyncIterable<KubeObject>): Promise<BackupEnd> {
  const hash = createHash("sha256");
  const count = { crds: 0, objects: 0 };
  const toLine = (value: unknown): string => {
    const line = `${writeExactJson(value)}\n`;
    hash.update(line);
    return line;
  };
  const end = (): BackupEnd => ({ sha256: hash.digest("hex"), ...count });
  let last: BackupEnd | undefined;
  async function* lines(): AsyncGenerator<string> {
    yield toLine({ format: FORMAT, ...head });
    for await (const item of items) {
      count[isCrd(item) ? "crds" : "objects"]++;
      yield toLine(item);
    }
    last = end();
    yield `${writeExactJson(last)}\n`;
  }
  const partial = `${path}.partial`;
  // Reserves the name, so that an existing backup is never replaced.
  const reserved = createWriteStream(path, { flags: "wx", mode: 0o600 });
  await pipeline(Readable.from([]), reserved);
  try {
    await pipeline(Readable.from(lines()), createGzip(), createWriteStream(partial, { flags: "w", mode: 0o600 }));
    await rename(partial, path);
  } catch (err) {
    await Promise.all([rm(partial, { force: true }), rm(path, { force: true })]);
    throw err;
  }
  return last ?? end();
}

/**
 * Reads a backup. Yields its objects, and returns its first and last line.
 * @throws TerminalError Blocked if it is not a backup, is incomplete, or was changed; only after the last object, so verify it with `verifyBackup` first
 */
export async function* readBackupFile(path: string): AsyncGenerator<KubeObject, BackupHead & BackupEnd> {
  const reject = (why: string, cause?: unknown): TerminalError =>
    new TerminalError("Blocked", `cannot read backup ${goQuote(path)}: ${why}`, { cause });
  const hash = createHash("sha256");
  const count = { crds: 0, objects: 0 };
  let head: BackupHead | undefined;
  let before: string | undefined;
  try {
    for await (const line of readLines(path)) {
      if (before !== undefined && head) {
        const item = Item.safeParse(parseExactJson(before));
        if (!item.success) throw reject("a line is not a Kubernetes object");
        const object = item.data as KubeObject;
        count[isCrd(object) ? "crds" : "objects"]++;
        hash.update(`${before}\n`);
        yield object;
      } else if (before !== undefined) {
        head = parseHead(before, reject);
        hash.update(`${before}\n`);
      }
      before = line;
    }
  } catch (err) {
    if (err instanceof TerminalError) throw err;
    if ((err as NodeJS.ErrnoException).code === "ENOENT") throw reject("the file does not exist", err);
    throw reject("it is not a complete compressed backup", err);
  }
  const end = End.safeParse(before === undefined ? undefined : parseExactJson(before));
  if (!head || !end.success) throw reject("it is incomplete");
  const { sha256, crds, objects } = end.data;
  if (hash.digest("hex") !== sha256 || crds !== count.crds || objects !== count.objects)
    throw reject("its checksum does not match its content");
  return { ...head, ...end.data };
}

/** Reads a backup completely. @throws as `readBackupFile` */
export async function verifyBackup(path: string, see: (object: KubeObject) => void = () => undefined): Promise<BackupHead & BackupEnd> {
  const items = readBackupFile(path);
  for (;;) {
    const { value, done } = await items.next();
    if (done) return value;
    see(value);
  }
}

function parseHead(line: string, reject: (why: string) => Error): BackupHead {
  const head = Head.safeParse(parseExactJson(line));
  if (!head.success) throw reject("it is not a backup of olmv1");
  const { format, ...rest } = head.data;
  if (format !== FORMAT) throw reject(`its format ${goQuote(format)} is unknown. Use the version of olmv1 that created it`);
  return rest;
}

/** @throws the error of the file or of its compression; Error for a line that is too long */
async function* readLines(path: string): AsyncGenerator<string> {
  const text = createGunzip();
  const copied = pipeline(createReadStream(path), text);
  copied.catch(() => undefined); // the loop gets the error, too
  const decoder = new StringDecoder();
  let pending = "";
  for await (const chunk of text as AsyncIterable<Buffer>) {
    const lines = (pending + decoder.write(chunk)).split("\n");
    pending = lines.pop() ?? "";
    if (pending.length > LINE_MAX) throw new Error(`a line is longer than ${LINE_MAX} characters`);
    yield* lines;
  }
  await copied;
  if (pending !== "") yield pending;
}
