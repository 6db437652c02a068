/** What the conventions call the providers that they know, by what they are called here and in the AI SDK. Others go by their own name. */
const known: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  anthropic: 'anthropic',
  azure: 'azure.ai.openai',
  'azure-openai': 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  'bedrock.anthropic': 'aws.bedrock',
  cohere: 'cohere',
  deepseek: 'deepseek',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  'google.vertex': 'gcp.vertex_ai',
  groq: 'groq',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  moonshotai: 'moonshot_ai',
  openai: 'openai',
  perplexity: 'perplexity',
  vertex: 'gcp.vertex_ai',
  'vertex.anthropic': 'gcp.vertex_ai',
  xai: 'x_ai',
}

/** What the AI SDK adds to say what is asked of them: `openai.responses`. Other endings are those of hosts: `openai.example.org`. */
const asked = /\.(chat|completion|responses|messages|generative-ai|interactions)$/

export function providerName(provider: string): string {
  const name = provider.replace(asked, '')
  return Object.hasOwn(known, name) ? (known[name] ?? provider) : provider
}
