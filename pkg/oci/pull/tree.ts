import { chmodSync, linkSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { posix } from "node:path";
import { RefusedError } from "../imageErrors.ts";

interface Directory {
  readonly kind: "directory";
  /** the last layer that mentioned it */
  layer: number;
  /** the last layer that removed all older content from it; the layer that created it counts */
  prunedIn: number;
  readonly children: Map<string, TreeNode>;
}
interface File {
  readonly kind: "file";
  readonly layer: number;
}
interface Symlink {
  readonly kind: "symlink";
  readonly layer: number;
  /** relative, as it stands on disk */
  readonly target: string;
}
type TreeNode = Directory | File | Symlink;

/** A directory and its real place below the root, without symlinks; "" is the root. */
interface Place {
  readonly directory: Directory;
  readonly path: string;
}

const SYMLINK_HOPS = 40;
/** Path components of symlink targets that one image may follow, and as many again when all symlinks are checked at the end. */
const SYMLINK_STEPS = 5_000_000;

/**
 * An image's files as they are unpacked into one empty folder that nobody else writes to. The tree is kept in memory, and every path is
 * resolved there, with ".." at the root staying at the root and absolute symlinks starting at it, before the disk is touched: what is
 * written always has real directories of this root as its parents.
 */
export class Tree {
  readonly #folder: string;
  readonly #root: Directory = { kind: "directory", layer: 0, prunedIn: 0, children: new Map() };
  readonly #depthMax: number;
  #layer = 0;
  #visits = 0;
  #symlinkSteps = 0;

  /** @param folder an existing empty folder */
  constructor(folder: string, depthMax: number) {
    this.#folder = folder;
    this.#depthMax = depthMax;
  }

  /** Nodes that were looked at for whiteouts and as parts of paths: the cost of the image, at most its entries times their depth. */
  get visits(): number {
    return this.#visits;
  }

  /** From now on entries belong to the next layer. */
  nextLayer(): void {
    this.#layer++;
  }

  /** A directory; one that is already there keeps its content. */
  addDirectory(path: readonly string[]): void {
    const { parent, name, there } = this.#slot(path);
    if (there?.kind === "directory") there.layer = this.#layer;
    else {
      this.#clear(parent, name);
      this.#makeDirectory(parent, name);
    }
  }

  /**
   * Makes room for a file: its parents exist, what had its name is gone.
   * @returns where to create it, on disk; it must be created without following or overwriting anything
   */
  addFile(path: readonly string[]): string {
    const { parent, name } = this.#slot(path);
    this.#clear(parent, name);
    parent.directory.children.set(name, { kind: "file", layer: this.#layer });
    return this.#onDisk(parent, name);
  }

  /**
   * A symlink. An absolute target means the image's root and is stored relative to the link.
   * @throws RefusedError when the target climbs above the root
   */
  addSymlink(path: readonly string[], target: string): void {
    const { parent, name } = this.#slot(path);
    const relative = target.startsWith("/") ? posix.relative(`/${parent.path}`, posix.normalize(target)) || "." : target;
    if (target === "" || climbs([...componentsOf(parent.path), ...componentsOf(relative)]))
      throw new RefusedError(`symlink "${path.join("/")}" leads out of the image`);
    this.#clear(parent, name);
    symlinkSync(relative, this.#onDisk(parent, name));
    parent.directory.children.set(name, { kind: "symlink", layer: this.#layer, target: relative });
  }

  /**
   * Another name for a file or symlink that is already there.
   * @throws RefusedError when there is none
   */
  addHardLink(path: readonly string[], target: readonly string[]): void {
    const place = target.length > 0 ? this.#resolve(target.slice(0, -1), false) : undefined;
    const targetName = target.at(-1) ?? "";
    const node = place?.directory.children.get(targetName);
    if (!place || !node || node.kind === "directory")
      throw new RefusedError(`hard link "${path.join("/")}" names "${target.join("/")}", which is no file of the image`);
    if (node.kind === "symlink") {
      this.addSymlink(path, posix.join("/", place.path, node.target));
      return;
    }
    const { parent, name, there } = this.#slot(path);
    if (there === node) return;
    if (joined(place.path, targetName).startsWith(`${joined(parent.path, name)}/`))
      throw new RefusedError(`hard link "${path.join("/")}" names a file below itself`);
    this.#clear(parent, name);
    linkSync(this.#onDisk(place, targetName), this.#onDisk(parent, name));
    parent.directory.children.set(name, { kind: "file", layer: this.#layer });
  }

  /** Removes what lower layers put at `path`; what this layer has put there stays. Nothing there is fine. */
  whiteout(path: readonly string[]): void {
    const parent = this.#resolve(path.slice(0, -1), false);
    const name = path.at(-1);
    if (parent && name !== undefined) this.#prune(parent, name);
  }

  /** Removes everything lower layers put into a directory. */
  opaque(path: readonly string[]): void {
    const place = this.#resolve(path, false);
    if (place) this.#pruneChildren(place);
  }

  /**
   * Checks every symlink as the kernel will follow it (a target can pass through other links, so its text alone proves nothing), and makes
   * directories read-only, except the root's own. Files were created read-only.
   * @throws RefusedError when one leads out
   */
  finish(): void {
    const budget = { steps: SYMLINK_STEPS };
    const directories: string[] = [];
    const pending: Place[] = [{ directory: this.#root, path: "" }];
    for (let place = pending.pop(); place; place = pending.pop()) {
      directories.push(place.path);
      for (const [name, node] of place.directory.children) {
        if (node.kind === "directory") pending.push({ directory: node, path: joined(place.path, name) });
        if (node.kind === "symlink" && this.#leadsOut(place, node, budget))
          throw new RefusedError(`symlink "${joined(place.path, name)}" leads out of the image`);
      }
    }
    for (const path of directories.reverse()) if (path !== "") chmodSync(`${this.#folder}/${path}`, 0o500);
  }

  /** The place of an entry: its parent, made when missing, and what has its name now. */
  #slot(path: readonly string[]): { parent: Place; name: string; there: TreeNode | undefined } {
    const name = path.at(-1);
    const parent = this.#resolve(path.slice(0, -1), true);
    if (name === undefined || !parent) throw new Error("an entry needs a name");
    return { parent, name, there: parent.directory.children.get(name) };
  }

  /**
   * Walks to a directory, through symlinks, never above the root.
   * @returns undefined when a part is missing and `make` is false
   * @throws RefusedError when a part is a file, symlinks go round in circles, or the image has more symlinks to follow than allowed
   */
  #resolve(path: readonly string[], make: boolean): Place | undefined {
    const trail: Place[] = [{ directory: this.#root, path: "" }];
    const todo = [...path].reverse();
    let hops = 0;
    for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
      this.#visits++;
      const here = trail.at(-1) ?? { directory: this.#root, path: "" };
      if (name === "..") {
        if (trail.length > 1) trail.pop();
        continue;
      }
      const node = here.directory.children.get(name);
      if (node?.kind === "file") {
        if (!make) return undefined;
        throw new RefusedError(`"${joined(here.path, name)}" is a file, and other entries want it as their directory`);
      }
      if (node?.kind === "symlink") {
        if (++hops > SYMLINK_HOPS) throw new RefusedError(`too many symlinks on the way to "${path.join("/")}"`);
        const target = componentsOf(node.target);
        this.#symlinkSteps += target.length;
        if (this.#symlinkSteps > SYMLINK_STEPS)
          throw new RefusedError(`entries lead through symlinks of more than ${SYMLINK_STEPS} path components in all`);
        todo.push(...target.reverse());
        continue;
      }
      if (!node && !make) return undefined;
      if (trail.length > this.#depthMax) throw new RefusedError(`directories are nested more than ${this.#depthMax} deep`);
      trail.push({ directory: node ?? this.#makeDirectory(here, name), path: joined(here.path, name) });
    }
    return trail.at(-1);
  }

  #makeDirectory(parent: Place, name: string): Directory {
    mkdirSync(this.#onDisk(parent, name), { mode: 0o700 });
    const directory: Directory = { kind: "directory", layer: this.#layer, prunedIn: this.#layer, children: new Map() };
    parent.directory.children.set(name, directory);
    return directory;
  }

  #clear(parent: Place, name: string): void {
    if (!parent.directory.children.delete(name)) return;
    rmSync(this.#onDisk(parent, name), { recursive: true, force: true });
  }

  /** Removes a node and its content where they are older than this layer. @returns whether the node is gone */
  #prune(parent: Place, name: string): boolean {
    const node = parent.directory.children.get(name);
    if (!node) return true;
    this.#visits++;
    const isEmpty = node.kind !== "directory" || this.#pruneChildren({ directory: node, path: joined(parent.path, name) });
    if (node.layer === this.#layer || !isEmpty) return false;
    this.#clear(parent, name);
    return true;
  }

  /**
   * Removes what is older than this layer from a directory, once per layer: what this layer adds afterwards is not older.
   * @returns whether nothing is left in it
   */
  #pruneChildren(place: Place): boolean {
    const { directory } = place;
    if (directory.prunedIn !== this.#layer) for (const name of directory.children.keys()) this.#prune(place, name);
    directory.prunedIn = this.#layer;
    return directory.children.size === 0;
  }

  #leadsOut(from: Place, link: Symlink, budget: { steps: number }): boolean {
    const todo = [...componentsOf(from.path), ...componentsOf(link.target)].reverse();
    const trail: Directory[] = [this.#root];
    let hops = 0;
    for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
      if (--budget.steps < 0) throw new RefusedError("the image has too many symlinks to check");
      if (name === "..") {
        if (trail.length === 1) return true;
        trail.pop();
        continue;
      }
      const node = trail.at(-1)?.children.get(name);
      if (node?.kind === "directory") trail.push(node);
      else if (node?.kind === "symlink" && ++hops <= SYMLINK_HOPS) todo.push(...componentsOf(node.target).reverse());
      else return false;
    }
    return false;
  }

  #onDisk(parent: Place, name: string): string {
    return `${this.#folder}/${joined(parent.path, name)}`;
  }
}

/** The parts of a slash path; empty ones and "." are left out. */
export function componentsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** Whether ".." ever leads above the start. */
function climbs(path: readonly string[]): boolean {
  let depth = 0;
  for (const part of path) {
    depth += part === ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

function joined(parent: string, name: string): string {
  return parent === "" ? name : `${parent}/${name}`;
}
