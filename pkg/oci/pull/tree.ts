import { chmodSync, linkSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { posix } from "node:path";
import { Turns } from "../../async/concurrency.ts";
import { RefusedError } from "../imageErrors.ts";

interface Directory {
  readonly kind: "directory";
  /** the last layer that mentions it or adds content at any depth below it; its whole content is older than later layers */
  layer: number;
  /** the last layer that removed all older content from it, or the layer that created it */
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
  /** relative, as on disk */
  readonly target: string;
}
type TreeNode = Directory | File | Symlink;

/** A directory and its real path relative to the root, without symlinks; "" is the root. */
interface TreePlace {
  readonly directory: Directory;
  readonly path: string;
}

const SYMLINK_HOPS = 40;
/**
 * Maximum number of steps, in path components of symlink targets, to resolve the paths of one
 * image. The final check of all symlinks has the same limit.
 */
const SYMLINK_STEPS = 5_000_000;

/**
 * The files of an image while they are unpacked into an empty folder without other writers. The
 * tree is in memory and resolves every path before the disk is accessed, with ".." at the root
 * staying at the root and absolute symlinks starting there. So all parents of written files are
 * real directories of this root.
 */
export class Tree {
  readonly #folder: string;
  readonly #root: Directory = { kind: "directory", layer: 0, prunedIn: 0, children: new Map() };
  readonly #trash: string;
  readonly #depthMax: number;
  readonly #turns = new Turns();
  #layer = 0;
  #removed = 0;
  #visits = 0;
  #symlinkSteps = 0;

  /**
   * @param folder an existing empty folder
   * @param trash a folder on the same file system for removed directories: a rename takes constant time.
   * It must exist while a layer is applied, and the caller removes it. Removed paths do not become
   * longer if its path is at least 4 characters shorter than `folder`.
   */
  constructor(folder: string, trash: string, depthMax: number) {
    this.#folder = folder;
    this.#trash = trash;
    this.#depthMax = depthMax;
  }

  /**
   * The number of nodes visited for whiteouts and path components: the cost of the image, at most
   * its entries times their depth.
   */
  get visits(): number {
    return this.#visits;
  }

  /** Starts the next layer. */
  nextLayer(): void {
    this.#layer++;
  }

  /** Adds a directory; an existing one keeps its content. */
  addDirectory(path: readonly string[]): void {
    const { parent, name, there } = this.#slot(path);
    if (there?.kind === "directory") there.layer = this.#layer;
    else {
      this.#clear(parent, name);
      this.#makeDirectory(parent, name);
    }
  }

  /**
   * Prepares the path of a file: creates its parents and removes an entry with the same name.
   * @returns the path on disk; create the file without following symlinks or overwriting files
   */
  addFile(path: readonly string[]): string {
    const { parent, name } = this.#slot(path);
    this.#clear(parent, name);
    parent.directory.children.set(name, { kind: "file", layer: this.#layer });
    return this.#onDisk(parent, name);
  }

  /**
   * Adds a symlink. An absolute target starts at the image's root, and is stored relative to the
   * link.
   * @throws RefusedError if the target is above the root
   */
  addSymlink(path: readonly string[], target: string): void {
    const { parent, name } = this.#slot(path);
    const relative = target.startsWith("/") ? posix.relative(`/${parent.path}`, posix.normalize(target)) || "." : target;
    if (target === "" || climbs([...splitPath(parent.path), ...splitPath(relative)]))
      throw new RefusedError(`symlink "${path.join("/")}" points outside the image`);
    this.#clear(parent, name);
    symlinkSync(relative, this.#onDisk(parent, name));
    parent.directory.children.set(name, { kind: "symlink", layer: this.#layer, target: relative });
  }

  /**
   * Adds another name for an existing file or symlink.
   * @throws RefusedError if it does not exist
   */
  addHardLink(path: readonly string[], target: readonly string[]): void {
    const place = target.length > 0 ? this.#resolve(target.slice(0, -1), false) : undefined;
    const targetName = target.at(-1) ?? "";
    const node = place?.directory.children.get(targetName);
    if (!place || !node || node.kind === "directory")
      throw new RefusedError(`hard link "${path.join("/")}" has target "${target.join("/")}", which is not a file in the image`);
    if (node.kind === "symlink") {
      this.addSymlink(path, posix.join("/", place.path, node.target));
      return;
    }
    const { parent, name, there } = this.#slot(path);
    if (there === node) return;
    if (joinPath(place.path, targetName).startsWith(`${joinPath(parent.path, name)}/`))
      throw new RefusedError(`hard link "${path.join("/")}" replaces the directory that contains its target`);
    this.#clear(parent, name);
    linkSync(this.#onDisk(place, targetName), this.#onDisk(parent, name));
    parent.directory.children.set(name, { kind: "file", layer: this.#layer });
  }

  /**
   * Removes the content of lower layers at `path`, and keeps the content of this layer. A missing
   * path is not an error.
   */
  async whiteout(path: readonly string[]): Promise<void> {
    const parent = this.#resolve(path.slice(0, -1), false);
    const name = path.at(-1);
    if (parent && name !== undefined) await this.#prune(parent, name);
  }

  /** Removes all content of lower layers from a directory. */
  async opaque(path: readonly string[]): Promise<void> {
    const place = this.#resolve(path, false);
    if (place) await this.#pruneChildren(place);
  }

  /**
   * Checks every symlink as the kernel will follow it (a target can pass through other links, so
   * checking its text is not enough), and makes all directories except the root read-only. Files
   * were created read-only.
   * @throws RefusedError if a symlink points outside the root
   */
  async finish(): Promise<void> {
    const budget = { steps: SYMLINK_STEPS };
    const directories: string[] = [];
    const pending: TreePlace[] = [{ directory: this.#root, path: "" }];
    for (let place = pending.pop(); place; place = pending.pop()) {
      directories.push(place.path);
      for (const [name, node] of place.directory.children) {
        await this.#turns.pause();
        if (node.kind === "directory") pending.push({ directory: node, path: joinPath(place.path, name) });
        if (node.kind === "symlink" && this.#leadsOut(place, node, budget))
          throw new RefusedError(`symlink "${joinPath(place.path, name)}" points outside the image`);
      }
    }
    for (const path of directories.reverse()) {
      await this.#turns.pause();
      if (path !== "") chmodSync(`${this.#folder}/${path}`, 0o500);
    }
  }

  /**
   * Returns the position of an entry: its parent, created if missing, and the existing entry with
   * its name.
   */
  #slot(path: readonly string[]): { parent: TreePlace; name: string; there: TreeNode | undefined } {
    const name = path.at(-1);
    const parent = this.#resolve(path.slice(0, -1), true);
    if (name === undefined || !parent) throw new Error("entry has no name");
    return { parent, name, there: parent.directory.children.get(name) };
  }

  /**
   * Resolves a directory through symlinks, never above the root.
   * @returns undefined if a component is missing and `make` is false
   * @throws RefusedError if a component is a file, symlinks are circular, or the image exceeds the
   * symlink limit
   */
  #resolve(path: readonly string[], make: boolean): TreePlace | undefined {
    const trail: TreePlace[] = [{ directory: this.#root, path: "" }];
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
        throw new RefusedError(`"${joinPath(here.path, name)}" is a file, but other entries use it as a directory`);
      }
      if (node?.kind === "symlink") {
        if (++hops > SYMLINK_HOPS) throw new RefusedError(`too many symlinks in the path "${path.join("/")}"`);
        const target = splitPath(node.target);
        this.#symlinkSteps += target.length;
        if (this.#symlinkSteps > SYMLINK_STEPS)
          throw new RefusedError(`resolving the symlinks in entry paths takes more than ${SYMLINK_STEPS} steps`);
        todo.push(...target.reverse());
        continue;
      }
      if (!node && !make) return undefined;
      if (trail.length > this.#depthMax) throw new RefusedError(`directories are nested more than ${this.#depthMax} levels deep`);
      trail.push({ directory: node ?? this.#makeDirectory(here, name), path: joinPath(here.path, name) });
    }
    if (make) for (const { directory } of trail) directory.layer = this.#layer;
    return trail.at(-1);
  }

  #makeDirectory(parent: TreePlace, name: string): Directory {
    mkdirSync(this.#onDisk(parent, name), { mode: 0o700 });
    const directory: Directory = { kind: "directory", layer: this.#layer, prunedIn: this.#layer, children: new Map() };
    parent.directory.children.set(name, directory);
    return directory;
  }

  /** Removes a node with its content in one operation. */
  #clear(parent: TreePlace, name: string): void {
    const node = parent.directory.children.get(name);
    if (!node) return;
    parent.directory.children.delete(name);
    const path = this.#onDisk(parent, name);
    if (node.kind === "directory") renameSync(path, `${this.#trash}/${(this.#removed++).toString(36)}`);
    else rmSync(path, { force: true });
  }

  /** Removes a node if it is older than this layer, or else its older content. */
  async #prune(parent: TreePlace, name: string): Promise<void> {
    await this.#turns.pause();
    const node = parent.directory.children.get(name);
    if (!node) return;
    this.#visits++;
    if (node.layer !== this.#layer) this.#clear(parent, name);
    else if (node.kind === "directory") await this.#pruneChildren({ directory: node, path: joinPath(parent.path, name) });
  }

  /** Removes content older than this layer from a directory, once per layer: content that this layer adds later is not older. */
  async #pruneChildren(place: TreePlace): Promise<void> {
    const { directory } = place;
    if (directory.prunedIn !== this.#layer) for (const name of directory.children.keys()) await this.#prune(place, name);
    directory.prunedIn = this.#layer;
  }

  #leadsOut(from: TreePlace, link: Symlink, budget: { steps: number }): boolean {
    const todo = [...splitPath(from.path), ...splitPath(link.target)].reverse();
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
      else if (node?.kind === "symlink" && ++hops <= SYMLINK_HOPS) todo.push(...splitPath(node.target).reverse());
      else return false;
    }
    return false;
  }

  #onDisk(parent: TreePlace, name: string): string {
    return `${this.#folder}/${joinPath(parent.path, name)}`;
  }
}

/** Splits a path into its components, without empty ones and ".". */
export function splitPath(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** Returns whether ".." in the path leads above its start. */
function climbs(path: readonly string[]): boolean {
  let depth = 0;
  for (const part of path) {
    depth += part === ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

function joinPath(parent: string, name: string): string {
  return parent === "" ? name : `${parent}/${name}`;
}
