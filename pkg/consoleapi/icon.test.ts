import { expect, test } from "vitest";
import { readIconUrl } from "./icon.ts";

test.for<[what: string, icon: unknown, url: string | undefined]>([
  ["a picture", { mediatype: "image/png", base64data: "aWNv\nbg==" }, "data:image/png;base64,aWNvbg=="],
  ["a drawing", { mediatype: "image/svg+xml", base64data: "PHN2Zy8+" }, "data:image/svg+xml;base64,PHN2Zy8+"],
  ["a page", { mediatype: "text/html", base64data: "aWNvbg==" }, undefined],
  ["another type in the media type", { mediatype: "image/png,<b>", base64data: "aWNvbg==" }, undefined],
  ["data that is not base64", { mediatype: "image/png", base64data: '"><script>' }, undefined],
  ["too much data", { mediatype: "image/png", base64data: "a".repeat(600_000) }, undefined],
  ["no data", { mediatype: "image/png" }, undefined],
  ["no icon", undefined, undefined],
])("readIconUrl handles %s", ([, icon, url]) => {
  expect(readIconUrl({ icon })).toBe(url);
});
