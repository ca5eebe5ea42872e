import type { VNode } from 'preact';
import { Form } from '../../../web/components/form.tsx';

interface ActionFormProps {
  path: string;
  /** Action that the page carries out. */
  action: string;
  label: string;
  csrfToken: string;
}

/** Button that sends an action to the page of an endpoint. */
export function ActionForm({ path, action, label, csrfToken }: ActionFormProps): VNode {
  return (
    <Form action={path} token={csrfToken}>
      <input type="hidden" name="action" value={action} />
      <button type="submit" class="slight">
        {label}
      </button>
    </Form>
  );
}
