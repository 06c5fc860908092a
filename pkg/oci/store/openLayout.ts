import { stat } from "node:fs/promises";
import { ContentError } from "../contentError.ts";
import { type LayoutPlace, placeText } from "./imagePlace.ts";
import { unpackLayout } from "./layoutArchive.ts";
import { LayoutStore } from "./layoutStore.ts";

/**
 * Opens the layout of a place to read it.
 * @param scratch makes an empty folder, for what an archive holds
 * @throws ContentError that says what is there instead
 */
export async function openLayout(place: LayoutPlace, scratch: () => Promise<string>, signal: AbortSignal): Promise<LayoutStore> {
  const { kind, path } = place;
  const name = placeText({ ...place, tag: "" });
  if (kind === "oci") {
    const found = await stat(path).catch(() => undefined);
    if (!found) throw new ContentError(`${name}: there is no such folder`);
    if (!found.isDirectory()) throw new ContentError(`${name} is a file: oci-archive:${path} names the tar archive of a layout`);
    return new LayoutStore(path, name);
  }
  const folder = await scratch();
  await unpackLayout(path, folder, signal);
  return new LayoutStore(folder, name);
}
