import * as z from "zod/mini";
import { ShownObject } from "../../../../../pkg/consoleapi/objects.ts";

/** Formats a reference for an address: apiVersion, kind, namespace and name, separated by spaces. Names contain no spaces. */
export function formatReference({ apiVersion, kind, namespace = "", name }: ShownObject): string {
  return [apiVersion, kind, namespace, name].join(" ");
}

/** Parses a reference in an address; undefined if it is invalid. */
export function parseReference(text: string | null): ShownObject | undefined {
  const [apiVersion = "", kind = "", namespace = "", name = "", ...rest] = text?.split(" ") ?? [];
  if (apiVersion === "" || kind === "" || name === "" || rest.length > 0) return undefined;
  return z.parse(ShownObject, { apiVersion, kind, name, ...(namespace === "" ? {} : { namespace }) });
}

/** Returns the address of an object on the tab of the objects of an extension. */
export function buildObjectPath(extension: string, object: ShownObject): string {
  return `/extensions/${extension}/objects?${new URLSearchParams({ object: formatReference(object) }).toString()}`;
}

/** Returns the query of a reference for the server. */
export function buildObjectQuery({ apiVersion, kind, namespace, name }: ShownObject): string {
  return new URLSearchParams({ apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) }).toString();
}
