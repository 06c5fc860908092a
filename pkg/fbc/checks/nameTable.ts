import { createHash } from "node:crypto";
import { ownText } from "../ownText.ts";

/** Real names have some dozen characters. */
const MAX_LENGTH = 1_024;
const SHOWN = 200;

/** Copies of names that share no memory with the documents they came from; equal names are one text. Absurdly long ones are kept by their digest. */
export class NameTable {
  readonly #names = new Map<string, string>();

  keep(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const copy = ownText(name.length > MAX_LENGTH ? shortened(name) : name);
    this.#names.set(copy, copy);
    return copy;
  }
}

function shortened(name: string): string {
  return `${name.slice(0, SHOWN)}… (${name.length} characters, SHA-256 ${createHash("sha256").update(name).digest("hex")})`;
}
