import { execFile } from "node:child_process";
import { join } from "node:path";

const PROGRAM = join(import.meta.dirname, "../../cmd/olmv1/main.ts");

/** What a run of a program came to. */
export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** Runs `olmv1` with these arguments in a process of its own, without a kubeconfig but one that they name. */
export function olmv1(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, KUBECONFIG: "/nowhere", HOME: "/nowhere" };
    const child = execFile(process.execPath, [PROGRAM, ...args], { env }, (_, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    );
  });
}
