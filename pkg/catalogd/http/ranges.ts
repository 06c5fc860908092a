/** A requested part: `length` bytes from `start`. */
export interface ByteRange {
  start: number;
  length: number;
}

/** The parts of a content that a Range header asks for, or why they cannot be had. */
export type Ranges =
  | { readonly kind: "parts"; readonly parts: readonly ByteRange[] }
  /** Every part lies behind the end. */
  | { readonly kind: "none" }
  | { readonly kind: "invalid" }
  /** More than anybody needs: to be taken as if there were no header. @see RFC 9110 section 14.2 */
  | { readonly kind: "tooMany" };

const MAX_PARTS = 128;

/**
 * Reads a Range header for a content of `size` bytes. Parts that lie behind the end are left out; if all do, the answer is "none".
 * @see Go 1.26 net/http/fs.go, parseRange
 */
export function parseRange(header: string, size: number): Ranges {
  if (!header.startsWith("bytes=")) return { kind: "invalid" };
  const parts: ByteRange[] = [];
  let behind = false;
  for (const piece of header.slice("bytes=".length).split(",")) {
    const spec = piece.trim();
    if (spec === "") continue;
    if (parts.length >= MAX_PARTS) return { kind: "tooMany" };
    const found = /^(\d*)[ \t]*-[ \t]*(\d*)$/.exec(spec);
    const [, first = "", last = ""] = found ?? [];
    if (!found || (first === "" && last === "")) return { kind: "invalid" };
    if (first === "") {
      const length = Math.min(Number(last), size);
      if (length === 0) behind = true;
      else parts.push({ start: size - length, length });
      continue;
    }
    const start = Number(first);
    if (start >= size) {
      behind = true;
      continue;
    }
    if (last !== "" && start > Number(last)) return { kind: "invalid" };
    const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
    parts.push({ start, length: end - start + 1 });
  }
  return behind && parts.length === 0 ? { kind: "none" } : { kind: "parts", parts };
}

/** The value of Content-Range for one part. */
export function contentRange({ start, length }: ByteRange, size: number): string {
  return `bytes ${start}-${start + length - 1}/${size}`;
}
