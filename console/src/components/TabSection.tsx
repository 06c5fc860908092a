import { Title } from "@patternfly/react-core";
import { type ReactElement, type ReactNode, useId } from "react";

/** A part of a tab with a heading. */
export function TabSection({
  title,
  level = "h3",
  extra,
  children,
}: {
  readonly title: string;
  readonly level?: "h2" | "h3";
  /** After the heading, such as a button. */
  readonly extra?: ReactNode;
  readonly children: ReactNode;
}): ReactElement {
  const id = useId();
  return (
    <section className="olm-section" aria-labelledby={id}>
      <div className="olm-section-head">
        <Title headingLevel={level} size={level === "h2" ? "xl" : "lg"} id={id}>
          {title}
        </Title>
        {extra}
      </div>
      {children}
    </section>
  );
}
