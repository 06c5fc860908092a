import type { RecordedLine } from "./screen.ts";

const ROW = 18;
const COLUMN = 8.1;
const PADDING = 14;
const ROWS = 32;
/** Time that the last frame stays before the animation restarts, in milliseconds. */
const REST_MS = 5_000;
const STYLE = `text{font:13.5px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d8dee9;white-space:pre}
.prompt{fill:#88c0d0}.strong{font-weight:bold;fill:#eceff4}.faint{fill:#7b869c}.good{fill:#a3be8c}.bad{fill:#e0777d}.warning{fill:#ebcb8b}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}`;

/**
 * Returns an animated SVG of recorded lines: each line appears at its time, and a full screen scrolls up.
 * @param columns width of the terminal @param title text for screen readers
 */
export function renderAnimation(lines: readonly RecordedLine[], columns: number, title: string): string {
  const endMs = (lines.at(-1)?.atMs ?? 0) + REST_MS;
  const [width, height] = [Math.round(columns * COLUMN + 2 * PADDING), ROWS * ROW + 2 * PADDING];
  const rows = lines.map(({ spans }, i) => {
    const text = spans
      .map(({ text: piece, style }) => (style === "" ? escapeXml(piece) : `<tspan class="${style}">${escapeXml(piece)}</tspan>`))
      .join("");
    return `<text x="${PADDING}" y="${PADDING + (i + 1) * ROW - 5}" style="animation:l${i} ${endMs}ms steps(1) infinite">${text}</text>\n`;
  });
  const keyframes = lines.map(({ atMs }, i) => `@keyframes l${i}{0%{opacity:0}${percent(atMs, endMs)}{opacity:1}}`);
  const moves = lines.flatMap(({ atMs }, i) =>
    i < ROWS ? [] : [`${percent(atMs, endMs)}{transform:translateY(${-(i - ROWS + 1) * ROW}px)}`],
  );
  const last = -Math.max(lines.length - ROWS, 0) * ROW;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}">
<title>${escapeXml(title)}</title>
<style>${STYLE}
${keyframes.join("\n")}
@keyframes up{0%{transform:translateY(0)}${moves.join("")}}
</style>
<rect width="100%" height="100%" rx="8" fill="#242933"/>
<svg x="0" y="${PADDING / 2}" width="${width}" height="${height - PADDING}"><g style="transform:translateY(${last}px);animation:up ${endMs}ms steps(1) infinite">
${rows.join("")}</g></svg>
</svg>
`;
}

function percent(atMs: number, endMs: number): string {
  return `${Math.max((atMs / endMs) * 100, 0.001).toFixed(3)}%`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
