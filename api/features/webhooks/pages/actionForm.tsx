import type { VNode } from 'preact';
import { Form } from '../../../web/components/form.tsx';

interface ActionFormProps {
  path: string;
  /** Action that the page carries out. */
  action: string;
  label: string;
}

/** Button that sends an action to the page of an endpoint. */
export function ActionForm({ path, action, label }: ActionFormProps): VNode {
  return (
    <Form action={path}>
      <input type="hidden" name="action" value={action} />
      <button type="submit" class="slight">
        {label}
      </button>
    </Form>
  );
}
