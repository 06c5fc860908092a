import { useParams } from "react-router";

/** Returns the name of the extension in the address of the page. */
export function useExtensionName(): string {
  return useParams()["name"] ?? "";
}
