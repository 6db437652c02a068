import type { Client } from '../contract.ts'
import { anthropicHelper } from './anthropic-helper.ts'

/** With the option that starts tools before the round ends. */
const client: Client = {
  ...anthropicHelper({ eager: true }),
  label: 'Anthropic SDK, helper, runToolsEagerly',
  only: ['loop', 'overlap'],
}

export default client
