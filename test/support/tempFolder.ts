import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A folder that is deleted after its test. */
export class TempFolder implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), "olmv1-test-"));

  /** Writes files by slash path in a sub-folder and returns that folder. */
  write(folder: string, files: Readonly<Record<string, string | Uint8Array>>): string {
    const root = join(this.path, folder);
    mkdirSync(root, { recursive: true });
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    return root;
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
