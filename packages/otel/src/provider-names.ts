/**
 * The names of providers in the conventions, by their names here and in the AI SDK. Others keep
 * their own name.
 */
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

/**
 * The AI SDK appends the API: `openai.responses`. Other suffixes belong to host names:
 * `openai.example.org`.
 */
const apiSuffix = /\.(chat|completion|responses|messages|generative-ai|interactions)$/

export function providerName(provider: string): string {
  const name = provider.replace(apiSuffix, '')
  return Object.hasOwn(known, name) ? (known[name] ?? provider) : provider
}
