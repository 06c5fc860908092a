import { elementsOf, fieldOf, type GoSlice, type GoType, type GoValue } from "../goType.ts";
import { type Counts, editScript } from "./editScript.ts";
import { goLiteral } from "./goLiteral.ts";

/** One place in two values; a side without a value there (an element that was added) is undefined. */
export interface DiffNode extends Counts {
  readonly type: GoType;
  readonly x: GoValue | undefined;
  readonly y: GoValue | undefined;
  /** How many places there are below it, and on how many levels. */
  readonly below: number;
  readonly levels: number;
  /** Fields, elements or entries. */
  readonly records: readonly DiffRecord[];
  /** What a pointer points to. */
  readonly inner?: DiffNode;
}

/** The key is the name of a field, the key of an entry as a literal, and empty for an element. */
export interface DiffRecord {
  readonly key: string;
  readonly node: DiffNode;
}

/** Compares two values as go-cmp does without options, and keeps every place. @see https://pkg.go.dev/github.com/google/go-cmp/cmp#Equal */
export function diffTree(type: GoType, x: GoValue | undefined, y: GoValue | undefined): DiffNode {
  if (x === undefined || y === undefined) return leaf(type, x, y, false);
  switch (type.kind) {
    case "struct":
      return branch(
        type,
        x,
        y,
        type.fields.map((field) => ({ key: field.name, node: diffTree(field.type, fieldOf(x, field), fieldOf(y, field)) })),
      );
    case "pointer": {
      if (x === null || y === null) return leaf(type, x, y, x === y);
      const inner = diffTree(type.to, x, y);
      return { ...branch(type, x, y, [{ key: "", node: inner }]), records: [], inner };
    }
    case "slice":
      return x === null || y === null ? leaf(type, x, y, x === y) : branch(type, x, y, elementRecords(type, x, y));
    case "map":
      return x === null || y === null
        ? leaf(type, x, y, x === y)
        : branch(type, x, y, entryRecords(type.of, x as ReadonlyMap<string, GoValue>, y as ReadonlyMap<string, GoValue>));
    case "string":
    case "bool":
    case "int":
    case "float":
    case "byte":
    default:
      return leaf(type, x, y, x === y);
  }
}

function elementRecords(type: GoSlice, x: GoValue, y: GoValue): DiffRecord[] {
  const [one, other] = [elementsOf(type, x), elementsOf(type, y)];
  const edits = editScript(one.length, other.length, (ix, iy) => diffTree(type.of, one[ix], other[iy]));
  let [ix, iy] = [0, 0];
  return edits.map((edit) => ({
    key: "",
    node: diffTree(type.of, edit === "y" ? undefined : one[ix++], edit === "x" ? undefined : other[iy++]),
  }));
}

function entryRecords(of: GoType, x: ReadonlyMap<string, GoValue>, y: ReadonlyMap<string, GoValue>): DiffRecord[] {
  const keys = [...new Set([...x.keys(), ...y.keys()])].sort();
  return keys.map((key) => ({ key: goLiteral(key), node: diffTree(of, x.get(key), y.get(key)) }));
}

function leaf(type: GoType, x: GoValue | undefined, y: GoValue | undefined, equal: boolean): DiffNode {
  return { type, x, y, same: equal ? 1 : 0, diff: equal ? 0 : 1, below: 0, levels: 0, records: [] };
}

function branch(type: GoType, x: GoValue, y: GoValue, records: readonly DiffRecord[]): DiffNode {
  let [same, diff, below, levels] = [0, 0, 0, 0];
  for (const { node } of records) {
    same += node.same;
    diff += node.diff;
    below += node.below + 1;
    levels = Math.max(levels, node.levels + 1);
  }
  return { type, x, y, same, diff, below, levels, records };
}
