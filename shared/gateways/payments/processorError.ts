interface ErrorDetails {
  isCustomerGone?: boolean;
  isConnectedAccountGone?: boolean;
  isAddressMissing?: boolean;
}

/**
 * An error of the payment processor.
 * - `rejected`: it rejected the request. Repeating the request changes nothing.
 * - `unavailable`: it could not be reached or has failed. The outcome of the request is unknown.
 */
export class ProcessorError extends Error {
  readonly fault: 'rejected' | 'unavailable';
  /** True if the customer in the request does not exist at the processor, or no longer does. */
  readonly isCustomerGone: boolean;
  /** True if the connected account in the request does not exist at the processor, or no longer does. */
  readonly isConnectedAccountGone: boolean;
  /** True if tax cannot be computed because the address of the customer is missing or incomplete. */
  readonly isAddressMissing: boolean;

  constructor(
    fault: 'rejected' | 'unavailable',
    message: string,
    {
      isCustomerGone = false,
      isConnectedAccountGone = false,
      isAddressMissing = false,
      ...options
    }: ErrorOptions & ErrorDetails = {},
  ) {
    super(message, options);
    this.name = 'ProcessorError';
    this.fault = fault;
    this.isCustomerGone = isCustomerGone;
    this.isConnectedAccountGone = isConnectedAccountGone;
    this.isAddressMissing = isAddressMissing;
  }
}
