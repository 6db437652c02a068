import type { Client } from '../contract.ts'
import { anthropicHelper } from './anthropic-helper.ts'

/** What its users get who ask for it: tools that start while the turn goes on. */
const client: Client = {
  ...anthropicHelper({ eager: true }),
  label: 'Anthropic SDK, helper, runToolsEagerly',
  only: ['loop', 'overlap'],
}

export default client
