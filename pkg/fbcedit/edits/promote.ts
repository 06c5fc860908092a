import { Schema } from "../../fbc/content.ts";
import type { PackageEdit } from "../packageEdit.ts";
import { addEntry, type Placement } from "./addEntry.ts";

/** Makes a bundle that the package has an entry of another channel too. @throws EditError */
export function promote(edit: PackageEdit, bundle: string, placement: Placement): void {
  edit.require(Schema.bundle, bundle);
  addEntry(edit, bundle, placement);
}
