/** One archive member, valid or not. */
export interface TarEntry {
  name: string;
  /** typeflag: "0" file (default), "1" hard link, "2" symlink, "3" and "4" devices, "5" directory, "6" fifo, "S" sparse, "x" pax header */
  type?: string;
  content?: string | Uint8Array;
  linkname?: string;
  /** the size in the header; the real length by default */
  size?: number;
  mode?: number;
  /** pax records for this member */
  pax?: Record<string, string>;
}

/** Creates a tar archive of exactly these members, with the end marker unless `unfinished`. */
export function tarball(entries: readonly TarEntry[], options: { unfinished?: boolean; v7?: boolean } = {}): Buffer {
  const parts: Uint8Array[] = [];
  const add = (entry: TarEntry): void => {
    const content = Buffer.from(entry.content ?? "");
    parts.push(header(entry, content.byteLength, options.v7 ?? false), content, Buffer.alloc((512 - (content.byteLength % 512)) % 512));
  };
  for (const entry of entries) {
    if (entry.pax) add({ name: "PaxHeaders/x", type: "x", content: Object.entries(entry.pax).map(paxRecord).join("") });
    add(entry);
  }
  if (!options.unfinished) parts.push(Buffer.alloc(1024));
  return Buffer.concat(parts);
}

function header(entry: TarEntry, length: number, v7: boolean): Buffer {
  const block = Buffer.alloc(512);
  block.write(entry.name, 0, 100);
  block.write(octal(entry.mode ?? 0o644, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(entry.size ?? length, 11), 124);
  block.write(octal(0, 11), 136);
  block.write("        ", 148);
  block.write(entry.type ?? "0", 156);
  block.write(entry.linkname ?? "", 157, 100);
  if (!v7) block.write("ustar\x0000", 257, "latin1");
  block.write(
    octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    ),
    148,
  );
  block[154] = 0;
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function paxRecord([key, value]: [string, string]): string {
  const body = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(body);
  while (String(length).length + Buffer.byteLength(body) !== length) length = String(length).length + Buffer.byteLength(body);
  return `${length}${body}`;
}
