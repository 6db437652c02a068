import type { Client } from '../contract.ts'
import { openaiHelper } from './openai-helper.ts'

/** What its users get who ask for it: tools that start while the turn goes on. */
const client: Client = {
  ...openaiHelper({ eager: true }),
  label: 'openai, helper, eager',
  wires: ['responses'],
  only: ['loop', 'overlap'],
}

export default client
