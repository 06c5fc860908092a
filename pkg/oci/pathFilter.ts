import { posix } from "node:path";
import { RefusedError } from "./contentError.ts";

/** Which part of an image is unpacked. */
export interface PathFilter {
  /** the directory that is kept, without a leading slash; "" is the whole image */
  readonly root: string;
  /** Whether an entry of this name, as the archive has it, lies at or below the root. */
  keeps(name: string): boolean;
  /** Whether removing this path (relative, clean) changes what is kept: it lies at, below or above the root. */
  touches(path: string): boolean;
}

/**
 * Keeps what is at or below `directory`. Names are cleaned and a leading slash does not count, on both sides; what is kept stays at its
 * place in the image.
 */
export function atOrBelow(directory: string): PathFilter {
  const root = clean(directory);
  if (root === ".") return { root: "", keeps: () => true, touches: () => true };
  const within = (path: string, parent: string): boolean => path === parent || path.startsWith(`${parent}/`) || parent === "";
  return {
    root,
    keeps: (name) => {
      if (root === ".." || root.startsWith("../"))
        throw new RefusedError(`error getting relative path: Rel: can't make ${clean(name)} relative to ${root}`);
      return within(clean(name), root);
    },
    touches: (path) => within(path, root) || within(root, path),
  };
}

function clean(path: string): string {
  return posix.normalize(path.replace(/^\//, "")).replace(/(?<=.)\/$/, "");
}
