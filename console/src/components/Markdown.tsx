import { Children, type ReactElement, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import { isCostlyMarkdown } from "./markdownCost.ts";
import { splitTables } from "./markdownTables.ts";

/** Everything else, such as HTML and images, is left out or shown as text. */
const ALLOWED = ["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong", "em", "code", "pre", "blockquote", "a", "hr", "br"];

/** The sections of pages have level 2. A heading whose content is left out has no text. */
const heading = ({ children }: { children?: ReactNode }): ReactElement | undefined =>
  Children.count(children) === 0 ? undefined : <h3 className="olm-markdown-heading">{children}</h3>;
const COMPONENTS: Components = {
  h1: heading,
  h2: heading,
  h3: heading,
  h4: heading,
  h5: heading,
  h6: heading,
  a: ({ href, children }) => <ExternalLink address={href}>{children}</ExternalLink>,
  pre: ({ children }) => (
    // A region that scrolls must be reachable with the keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className="olm-code" tabIndex={0}>
      {children}
    </pre>
  ),
};

/** A text in Markdown from a catalog: without HTML, images and addresses that could run scripts. */
export function Markdown({ text }: { readonly text: string }): ReactElement {
  if (isCostlyMarkdown(text)) return <p className="olm-markdown olm-break olm-preformatted">{text}</p>;
  return (
    <div className="olm-markdown olm-break" dir="auto">
      {splitTables(text).map((part, i) =>
        "text" in part ? <Prose key={i} text={part.text} /> : <MarkdownTable key={i} head={part.head} rows={part.rows} />,
      )}
    </div>
  );
}

function Prose({ text }: { readonly text: string }): ReactElement {
  return (
    <ReactMarkdown skipHtml unwrapDisallowed allowedElements={ALLOWED} urlTransform={keepWebAddress} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  );
}

function MarkdownTable({ head, rows }: { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }): ReactElement {
  return (
    <div className="olm-scroll">
      <table className="olm-markdown-table">
        <thead>
          <tr>
            {head.map((cell, i) => (
              <th key={i} scope="col">
                <Prose text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {head.map((_, at) => (
                <td key={at}>
                  <Prose text={row[at] ?? ""} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A link to another site, which learns nothing about the console. Only a text if the address is not of the web. */
export function ExternalLink({ address, children }: { readonly address: string | undefined; readonly children: ReactNode }): ReactElement {
  const href = address === undefined ? "" : keepWebAddress(address);
  if (href === "") return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" className="olm-break">
      {children}
    </a>
  );
}

/** Returns an absolute address of the web; "" for any other. */
function keepWebAddress(address: string): string {
  const protocol = URL.parse(address)?.protocol;
  return protocol === "http:" || protocol === "https:" ? address : "";
}
