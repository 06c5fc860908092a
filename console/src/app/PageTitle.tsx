import { useEffect } from "react";
import { text } from "../text/en.ts";

/** Sets the title of the browser tab. */
export function PageTitle({ title }: { readonly title: string }): null {
  useEffect(() => {
    document.title = `${title} · ${text.product}`;
  }, [title]);
  return null;
}
