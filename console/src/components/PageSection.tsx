import "@patternfly/patternfly/components/Page/page.css";
import type { ReactElement, ReactNode } from "react";

/** A part of a page with the distances of PatternFly. */
export function PageSection({
  className = "",
  hasBody = true,
  children,
}: {
  readonly className?: string;
  /** Whether the content is one block; false if the parts of the content have distances. */
  readonly hasBody?: boolean;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <section className={`pf-v6-c-page__main-section ${className}`}>
      {hasBody ? <div className="pf-v6-c-page__main-body">{children}</div> : children}
    </section>
  );
}
