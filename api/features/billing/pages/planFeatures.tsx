import type { VNode } from 'preact';
import type { Plan } from '../../../../shared/spec/plans.ts';
import { withLanguage } from '../../../language.ts';
import { describePurchase } from '../../../web/components/describePurchase.ts';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { t as shared } from '../../../web/texts.ts';
import { PLANS as t } from './texts.ts';

/** Lists what a month of a plan buys, and its features: configured in English, and translated for the default plans. */
export function PlanFeatures({ plan: { features, monthlyCredits, parallelLimit } }: { plan: Plan }): VNode {
  const known = [
    () => t.everyMonth({ credits: monthlyCredits }),
    () => shared.parallel({ count: parallelLimit }),
    t.oneBalance,
    t.apiAccess,
  ];
  return (
    <ul class="plain">
      <li>{describePurchase(monthlyCredits)}</li>
      {features.map((feature) => {
        const english = withLanguage('en', () => formatDigits(feature));
        const text = known.find((candidate) => withLanguage('en', candidate) === english);
        return text === undefined ? <li lang="en">{english}</li> : <li>{text()}</li>;
      })}
    </ul>
  );
}

const formatDigits = (text: string) => text.replaceAll(/\d{4,}/g, (digits) => formatNumber(Number(digits)));
