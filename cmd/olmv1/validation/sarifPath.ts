import { isAbsolute, join, relative, sep } from "node:path";

/** The path of `file` in the checked folder as it is named from where the command runs; within the folder where that is elsewhere. */
export function sarifPath(folder: string, file: string, cwd: string): string {
  const path = relative(cwd, isAbsolute(folder) ? join(folder, file) : join(cwd, folder, file));
  const isOutside = path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
  return (isOutside ? file : path).split(sep).join("/");
}
