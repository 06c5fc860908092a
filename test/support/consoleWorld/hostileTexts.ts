/** The member of `window` that a payload sets when it runs. */
export const CANARY_MEMBER = "__canary";

const RUN = `window.${CANARY_MEMBER}=1`;
const ESC = "\u001b";
const BELL = "\u0007";

/** A host that a page must never send a request to. */
export const CANARY_HOST = "canary.example.net";

/** Texts that an unsafe page would run, request, or lay out wrongly, by what they try. */
export const HOSTILE_TEXTS = {
  image: `<img src=x onerror="${RUN}">`,
  script: `<script>${RUN}</script>`,
  svg: `<svg onload="${RUN}"><animate onbegin="${RUN}" attributeName=x dur=1s></svg>`,
  frame: `<iframe srcdoc="<script>parent.${CANARY_MEMBER}=1</script>"></iframe>`,
  attribute: `" autofocus onfocus="${RUN}" x="`,
  markdownLink: `[release notes](javascript:${RUN})`,
  markdownEncodedLink: `[guide](java&#115;cript:${RUN}) <javascript:${RUN}>`,
  markdownDataLink: `[download](data:text/html,<script>${RUN}</script>)`,
  markdownImage: `![pixel](https://${CANARY_HOST}/pixel.png)`,
  style: `<style>@import "https://${CANARY_HOST}/style.css"; body { display: none }</style>`,
  template: `{{constructor.constructor('${RUN}')()}} \${${RUN}}`,
  rightToLeft: "invoice\u202Efdp.exe\u202C \u2066isolated\u2069",
  zeroWidth: "post\u200Bgres\u200D-\u2060oper\uFEFFator",
  combining: `Z${"\u0351\u036B\u0343".repeat(20)}algo`,
  terminal: `${ESC}[31mred${ESC}[0m ${ESC}[2J${ESC}]0;title${BELL}${ESC}]8;;https://${CANARY_HOST}${BELL}link${ESC}]8;;${BELL}`,
  longWord: "W".repeat(5_000),
} as const;

/** All hostile texts except the long word, in one line of less than 1,500 characters. */
export const HOSTILE_LINE = Object.entries(HOSTILE_TEXTS)
  .flatMap(([name, text]) => (name === "longWord" ? [] : [text]))
  .join(" ");

/** All hostile texts, each in a paragraph. */
export const HOSTILE_DOCUMENT = Object.values(HOSTILE_TEXTS).join("\n\n");
