import { escapeControlCharacters, escapeMarkup } from "../../../../pkg/text/escape.ts";
import type { ConversionReport, ReportItem } from "./conversionReport.ts";

/** Text that is already HTML. */
class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlValue = string | number | Markup | readonly Markup[];

/** Builds HTML. Escapes all texts, because names and messages of a cluster are untrusted. */
function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Markup {
  return new Markup(parts.map((part, i) => part + (i < values.length ? toHtml(values[i] ?? "") : "")).join(""));
}

function toHtml(value: HtmlValue): string {
  if (value instanceof Markup) return value.text;
  if (typeof value === "object") return value.map(({ text }) => text).join("");
  return escapeMarkup(escapeControlCharacters(String(value)));
}

/** Allows only the inline style sheet: the report loads nothing and runs no script. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";
const STYLE = new Markup(`
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1f2328; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #d1d9e0; padding: .4rem .6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
code { font: 13px ui-monospace, monospace; }
.done, .ready { color: #116329; }
.left { color: #7d4e00; }
.failed { color: #b3261e; }
.passed { color: #59636e; }
@media (prefers-color-scheme: dark) {
  body { color: #f0f6fc; background: #0d1117; }
  th, td { border-color: #3d444d; }
  .done, .ready { color: #3fb950; }
  .left { color: #d29922; }
  .failed { color: #f85149; }
  .passed { color: #9198a1; }
}
`);

/** Formats a report as a self-contained HTML page. */
export function formatHtmlReport({ time, isDryRun, counts, items }: ConversionReport): string {
  const title = isDryRun ? "Plan of the migration from OLM v0" : "Migration from OLM v0";
  const rows = items.map(
    (item, at) => html`<tr><td>${item.namespace}</td><td><a href="#s${at}">${item.subscription}</a></td><td>${item.package}</td>
<td>${item.version}</td><td class="${item.kind}">${item.result}</td><td>${item.detail}</td></tr>
`,
  );
  const summary = Object.entries(counts)
    .map(([result, count]) => `${count} ${result}`)
    .join(", ");
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${title}</h1>
<p>${summary === "" ? "No Subscriptions found" : summary}. <time datetime="${time}">${time}</time></p>
<table>
<thead><tr><th>Namespace</th><th>Subscription</th><th>Package</th><th>Version</th><th>Result</th><th>Detail</th></tr></thead>
<tbody>
${rows}</tbody>
</table>
${items.map(formatItem)}</body>
</html>
`.text;
}

function formatItem({ namespace, subscription, kind, result, detail, reasons, remarks, plan }: ReportItem, at: number): Markup {
  const explained = [...reasons, ...remarks].map(
    ({ code, text, next }) => html`<li><code>${code}</code>: ${text}.<br>Next: ${next}</li>
`,
  );
  const planned = plan
    ? html`<p>ClusterExtension <code>${plan.clusterExtension}</code>: ${plan.adopted} objects adopted, ${plan.changed} of them changed, ${plan.created} created, ${plan.left} left until the cleanup. ${plan.restarting.length === 0 ? "No Pod restarts." : `Pods restart: ${plan.restarting.join(", ")}.`}</p>
${formatTexts("Findings that block the conversion", plan.findings)}${formatTexts("Notes", plan.notes)}`
    : html``;
  return html`<h2 id="s${at}">${namespace}/${subscription}: <span class="${kind}">${result}</span></h2>
${
  detail === ""
    ? html``
    : html`<p>${detail}</p>
`
}${
  explained.length === 0
    ? html``
    : html`<ul>
${explained}</ul>
`
}${planned}`;
}

function formatTexts(title: string, texts: readonly string[]): Markup {
  if (texts.length === 0) return html``;
  return html`<h3>${title}</h3>
<ul>
${texts.map(
  (text) => html`<li>${text}</li>
`,
)}</ul>
`;
}
