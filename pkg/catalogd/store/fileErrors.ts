/** To catch with: undefined for a file that does not exist. @throws what it was given otherwise. */
export function undefinedIfMissing(err: NodeJS.ErrnoException): undefined {
  if (err.code === "ENOENT") return undefined;
  throw err;
}
