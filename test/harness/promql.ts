/** A metric in a PromQL expression, with the labels that its selector compares. */
export interface MetricUse {
  name: string;
  labels: string[];
}

const KEYWORDS = new Set(['and', 'or', 'unless', 'by', 'on', 'without', 'ignoring', 'bool', 'offset']);

/** Lists the metrics of an expression: every identifier that is no function, keyword or label of a grouping. */
export function listMetrics(expression: string): MetricUse[] {
  const text = expression
    .replaceAll(/\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ');
  return [...text.matchAll(/(?<![\w:."])([a-zA-Z_:][\w:]*)\b(?!\s*\()(?:\{([^}]*)\})?(?![^{}]*"\s*[,}])/g)]
    .map(([, name = '', selector = '']) => ({
      name,
      labels: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label),
    }))
    .filter(({ name }) => !KEYWORDS.has(name) && !/^\d/.test(name));
}
