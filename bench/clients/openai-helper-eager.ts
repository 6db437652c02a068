import type { Client } from '../contract.ts'
import { openaiHelper } from './openai-helper.ts'

/** With the option that starts tools before the round ends. */
const client: Client = {
  ...openaiHelper({ eager: true }),
  label: 'openai, helper, eager',
  wires: ['responses'],
  only: ['loop', 'overlap'],
}

export default client
