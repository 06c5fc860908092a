/** Whether an Accept-Encoding header takes gzip: named itself, or by `*`, with a weight above zero. */
export function acceptsGzip(header: string | undefined): boolean {
  if (!header) return false;
  let any = false;
  for (const piece of header.split(",")) {
    const [coding = "", ...parameters] = piece.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const accepted = weight === undefined || Number(weight.slice(2)) > 0;
    if (coding === "gzip" || coding === "x-gzip") return accepted;
    if (coding === "*") any = accepted;
  }
  return any;
}
