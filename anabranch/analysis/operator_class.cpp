#include "anabranch/analysis/operator_class.h"

#include <algorithm>
#include <array>

namespace anabranch {
namespace {

// Sorted. GE's names begin with a capital, ATen's are without namespace and overload. dot and outer
// are missing on purpose: they are products and sums on the vector unit.
constexpr auto kCube = std::to_array<std::string_view>({
    "AllGatherMatmul",
    "BatchMatMul",
    "BatchMatMulV2",
    "BatchMatMulV3",
    "Conv1D",
    "Conv2D",
    "Conv2DBackpropFilter",
    "Conv2DBackpropFilterD",
    "Conv2DBackpropInput",
    "Conv2DBackpropInputD",
    "Conv2DTranspose",
    "Conv2DTransposeD",
    "Conv2DV2",
    "Conv3D",
    "Conv3DBackpropFilter",
    "Conv3DBackpropInput",
    "Conv3DTranspose",
    "Conv3DV2",
    "Convolution",
    "Deconvolution",
    "DepthwiseConv2D",
    "DepthwiseConv2DBackpropFilter",
    "DepthwiseConv2DBackpropInput",
    "DynamicGRUV2",
    "DynamicRNN",
    "Einsum",
    "FFN",
    "FlashAttentionScore",
    "FlashAttentionScoreGrad",
    "FullyConnection",
    "FusedInferAttentionScore",
    "GEMM",
    "Gemm",
    "GemmV2",
    "GroupedMatmul",
    "IncreFlashAttention",
    "MatMul",
    "MatMulV2",
    "MatMulV3",
    "MatmulAllReduce",
    "MatmulReduceScatter",
    "MlaProlog",
    "PromptFlashAttention",
    "QuantBatchMatmul",
    "QuantBatchMatmulV3",
    "QuantConv2D",
    "WeightQuantBatchMatmul",
    "WeightQuantBatchMatmulV2",
    "_addmm_activation",
    "_conv_depthwise2d",
    "_convolution",
    "_convolution_double_backward",
    "_convolution_mode",
    "_cudnn_attention_backward",
    "_cudnn_attention_forward",
    "_cudnn_rnn",
    "_cudnn_rnn_backward",
    "_dyn_quant_matmul_4bit",
    "_efficient_attention_backward",
    "_efficient_attention_forward",
    "_flash_attention_backward",
    "_flash_attention_forward",
    "_foreach_mm",
    "_grouped_mm",
    "_int_mm",
    "_mixed_dtypes_linear",
    "_native_multi_head_attention",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_cudnn_attention_backward",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_scaled_dot_product_fused_attention_overrideable",
    "_scaled_dot_product_fused_attention_overrideable_backward",
    "_scaled_grouped_mm",
    "_scaled_mm",
    "_slow_conv2d_backward",
    "_slow_conv2d_forward",
    "_sparse_addmm",
    "_sparse_mm",
    "_trilinear",
    "_weight_int4pack_mm",
    "_weight_int4pack_mm_for_cpu",
    "_weight_int8pack_mm",
    "addbmm",
    "addmm",
    "addmv",
    "baddbmm",
    "bilinear",
    "bmm",
    "chain_matmul",
    "conv1d",
    "conv1d_relu",
    "conv2d",
    "conv2d_relu",
    "conv3d",
    "conv_depthwise3d",
    "conv_tbc",
    "conv_tbc_backward",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
    "convolution_backward",
    "convolution_backward_overrideable",
    "convolution_overrideable",
    "cudnn_convolution",
    "cudnn_convolution_add_relu",
    "cudnn_convolution_relu",
    "cudnn_convolution_transpose",
    "einsum",
    "flex_attention",
    "flex_attention_backward",
    "gru",
    "gru_cell",
    "linalg_matmul",
    "linalg_multi_dot",
    "linear",
    "linear_backward",
    "linear_dynamic",
    "linear_relu",
    "lstm",
    "lstm_cell",
    "matmul",
    "matmul_backward",
    "mkldnn_convolution",
    "mkldnn_linear",
    "mkldnn_rnn_layer",
    "mkldnn_rnn_layer_backward",
    "mm",
    "mv",
    "npu_ffn",
    "npu_fused_infer_attention_score",
    "npu_fused_infer_attention_score_v2",
    "npu_fusion_attention",
    "npu_grouped_matmul",
    "npu_incre_flash_attention",
    "npu_mla_prolog",
    "npu_mm_all_reduce_base",
    "npu_prompt_flash_attention",
    "npu_quant_matmul",
    "npu_weight_quant_batchmatmul",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "scaled_dot_product_attention",
    "slow_conv3d",
    "slow_conv3d_forward",
    "slow_conv_dilated2d",
    "slow_conv_dilated3d",
    "slow_conv_transpose2d",
    "slow_conv_transpose3d",
    "smm",
    "sparse_sampled_addmm",
    "sspaddmm",
    "tensordot",
    "thnn_conv2d",
});
static_assert(std::is_sorted(kCube.begin(), kCube.end()));

/// "mm" of "aten.mm.default", "baddbmm" of "aten.baddbmm_.default", "MatMul" of itself.
std::string_view base_name(std::string_view op) {
  if (size_t begin = op.find('.'); begin != std::string_view::npos) {
    op.remove_prefix(begin + 1);
    op = op.substr(0, op.find('.'));
  }
  if (op.size() > 1 && op.back() == '_') op.remove_suffix(1);
  return op;
}

}  // namespace

std::string_view to_string(OperatorClass operator_class) {
  return operator_class == OperatorClass::Cube ? "cube" : "vector";
}

OperatorClass operator_class(std::string_view op) {
  bool cube = std::binary_search(kCube.begin(), kCube.end(), base_name(op));
  return cube ? OperatorClass::Cube : OperatorClass::Vector;
}

OperatorClass operator_class(const Node& node) {
  if (node.kind != NodeKind::Operator) return OperatorClass::Vector;
  for (const auto& body : node.bodies) {
    for (const Node& inner : body->nodes) {
      if (operator_class(inner) == OperatorClass::Cube) return OperatorClass::Cube;
    }
  }
  return operator_class(std::string_view(node.op));
}

}  // namespace anabranch
