#include "anabranch/formats/ge_types.h"

#include <array>
#include <unordered_map>

namespace anabranch::formats {
namespace {

struct DTypeName {
  DType dtype;
  std::string_view name;
};

// GE has no names for the two "fnuz" types; the last two are ours.
constexpr std::array kDTypeNames{
    DTypeName{DType::Bool, "DT_BOOL"},
    DTypeName{DType::U8, "DT_UINT8"},
    DTypeName{DType::U16, "DT_UINT16"},
    DTypeName{DType::U32, "DT_UINT32"},
    DTypeName{DType::U64, "DT_UINT64"},
    DTypeName{DType::I8, "DT_INT8"},
    DTypeName{DType::I16, "DT_INT16"},
    DTypeName{DType::I32, "DT_INT32"},
    DTypeName{DType::I64, "DT_INT64"},
    DTypeName{DType::F16, "DT_FLOAT16"},
    DTypeName{DType::BF16, "DT_BF16"},
    DTypeName{DType::F32, "DT_FLOAT"},
    DTypeName{DType::F64, "DT_DOUBLE"},
    DTypeName{DType::C32, "DT_COMPLEX32"},
    DTypeName{DType::C64, "DT_COMPLEX64"},
    DTypeName{DType::C128, "DT_COMPLEX128"},
    DTypeName{DType::F8E4M3FN, "DT_FLOAT8_E4M3FN"},
    DTypeName{DType::F8E5M2, "DT_FLOAT8_E5M2"},
    DTypeName{DType::F8E4M3FNUZ, "DT_FLOAT8_E4M3FNUZ"},
    DTypeName{DType::F8E5M2FNUZ, "DT_FLOAT8_E5M2FNUZ"},
};

using TypeTable = std::unordered_map<std::string_view, std::string_view>;

// By the operator's name without library and overload.
const TypeTable& type_table() {
  static const TypeTable table{
      // arithmetic
      {"add", "Add"},
      {"sub", "Sub"},
      {"rsub", "Sub"},
      {"mul", "Mul"},
      {"div", "RealDiv"},
      {"true_divide", "RealDiv"},
      {"floor_divide", "FloorDiv"},
      {"remainder", "FloorMod"},
      {"fmod", "Mod"},
      {"pow", "Pow"},
      {"square", "Square"},
      {"neg", "Neg"},
      {"abs", "Abs"},
      {"sign", "Sign"},
      {"reciprocal", "Reciprocal"},
      {"sqrt", "Sqrt"},
      {"rsqrt", "Rsqrt"},
      {"exp", "Exp"},
      {"expm1", "Expm1"},
      {"log", "Log"},
      {"log1p", "Log1p"},
      {"sin", "Sin"},
      {"cos", "Cos"},
      {"tan", "Tan"},
      {"asin", "Asin"},
      {"acos", "Acos"},
      {"atan", "Atan"},
      {"atan2", "Atan2"},
      {"sinh", "Sinh"},
      {"cosh", "Cosh"},
      {"floor", "Floor"},
      {"ceil", "Ceil"},
      {"round", "Round"},
      {"trunc", "Trunc"},
      {"erf", "Erf"},
      {"erfc", "Erfc"},
      {"maximum", "Maximum"},
      {"minimum", "Minimum"},
      {"clamp", "ClipByValue"},
      {"addcmul", "Addcmul"},
      {"addcdiv", "Addcdiv"},
      {"lerp", "Lerp"},
      {"isfinite", "IsFinite"},
      {"isinf", "IsInf"},
      {"isnan", "IsNan"},
      // comparison and logic
      {"eq", "Equal"},
      {"ne", "NotEqual"},
      {"lt", "Less"},
      {"le", "LessEqual"},
      {"gt", "Greater"},
      {"ge", "GreaterEqual"},
      {"logical_and", "LogicalAnd"},
      {"logical_or", "LogicalOr"},
      {"logical_not", "LogicalNot"},
      {"logical_xor", "LogicalXor"},
      {"bitwise_and", "BitwiseAnd"},
      {"bitwise_or", "BitwiseOr"},
      {"bitwise_xor", "BitwiseXor"},
      {"bitwise_not", "Invert"},
      {"where", "SelectV2"},
      {"masked_fill", "MaskedFill"},
      // matrices, convolution, attention
      {"mm", "MatMul"},
      {"matmul", "MatMul"},
      {"linear", "MatMul"},
      {"addmm", "GEMM"},
      {"bmm", "BatchMatMul"},
      {"mv", "Mv"},
      {"dot", "Dot"},
      {"convolution", "Conv2D"},
      {"max_pool2d_with_indices", "MaxPoolWithArgmax"},
      {"avg_pool2d", "AvgPool"},
      {"_adaptive_avg_pool2d", "AdaptiveAvgPool2d"},
      {"scaled_dot_product_attention", "FlashAttentionScore"},
      {"_scaled_dot_product_flash_attention", "FlashAttentionScore"},
      {"_scaled_dot_product_flash_attention_for_cpu", "FlashAttentionScore"},
      {"_scaled_dot_product_efficient_attention", "FlashAttentionScore"},
      // activations and norms
      {"relu", "Relu"},
      {"leaky_relu", "LeakyRelu"},
      {"gelu", "Gelu"},
      {"silu", "Swish"},
      {"sigmoid", "Sigmoid"},
      {"tanh", "Tanh"},
      {"elu", "Elu"},
      {"softplus", "SoftplusV2"},
      {"hardtanh", "ClipByValue"},
      {"hardsigmoid", "HardSigmoid"},
      {"hardswish", "HardSwish"},
      {"mish", "Mish"},
      {"glu", "GLU"},
      {"_softmax", "SoftmaxV2"},
      {"softmax", "SoftmaxV2"},
      {"_log_softmax", "LogSoftmaxV2"},
      {"log_softmax", "LogSoftmaxV2"},
      {"native_layer_norm", "LayerNorm"},
      {"native_group_norm", "GroupNorm"},
      {"native_batch_norm", "BatchNorm"},
      {"_native_batch_norm_legit", "BatchNorm"},
      {"rms_norm", "RmsNorm"},
      {"_fused_rms_norm", "RmsNorm"},
      // reductions and searches
      {"sum", "ReduceSum"},
      {"mean", "ReduceMean"},
      {"prod", "ReduceProd"},
      {"amax", "ReduceMax"},
      {"amin", "ReduceMin"},
      {"any", "ReduceAny"},
      {"all", "ReduceAll"},
      {"max", "ArgMaxWithValue"},
      {"min", "ArgMinWithValue"},
      {"argmax", "ArgMaxV2"},
      {"argmin", "ArgMin"},
      {"cumsum", "Cumsum"},
      {"cumprod", "Cumprod"},
      {"topk", "TopKV2"},
      {"sort", "Sort"},
      {"nonzero", "NonZero"},
      {"logsumexp", "ReduceLogSumExp"},
      // moving data
      {"cat", "ConcatV2"},
      {"stack", "Pack"},
      {"unbind", "Unpack"},
      {"split", "SplitD"},
      {"chunk", "SplitD"},
      {"split_with_sizes", "SplitVD"},
      {"index_select", "GatherV2"},
      {"embedding", "GatherV2"},
      {"gather", "GatherElements"},
      {"index", "Index"},
      {"index_put", "IndexPutV2"},
      {"index_copy", "InplaceUpdate"},
      {"index_add", "InplaceAdd"},
      {"scatter", "ScatterElements"},
      {"scatter_add", "ScatterAddWithAxis"},
      {"select_scatter", "StridedSliceAssign"},
      {"slice_scatter", "StridedSliceAssign"},
      {"tril", "Tril"},
      {"triu", "Triu"},
      {"flip", "ReverseV2"},
      {"roll", "Roll"},
      {"repeat", "Tile"},
      {"constant_pad_nd", "PadV3"},
      {"_to_copy", "Cast"},
      {"to", "Cast"},
      {"clone", "TensorMove"},
      {"copy", "TensorMove"},
      {"contiguous", "TensorMove"},
      {"one_hot", "OneHot"},
      // views
      {"t", "Transpose"},
      {"transpose", "Transpose"},
      {"permute", "Transpose"},
      {"numpy_T", "Transpose"},
      {"view", "Reshape"},
      {"reshape", "Reshape"},
      {"_unsafe_view", "Reshape"},
      {"flatten", "Reshape"},
      {"unflatten", "Reshape"},
      {"_reshape_alias", "Reshape"},
      {"view_as", "Reshape"},
      {"reshape_as", "Reshape"},
      {"expand", "BroadcastTo"},
      {"expand_as", "BroadcastTo"},
      {"broadcast_to", "BroadcastTo"},
      {"slice", "StridedSlice"},
      {"select", "StridedSlice"},
      {"narrow", "StridedSlice"},
      {"squeeze", "Squeeze"},
      {"unsqueeze", "Unsqueeze"},
      {"alias", "Identity"},
      {"detach", "Identity"},
      {"lift_fresh", "Identity"},
      {"as_strided", "AsStrided"},
      {"diagonal", "DiagPart"},
      {"unfold", "Unfold"},
      // creation and random numbers
      {"arange", "Range"},
      {"linspace", "LinSpace"},
      {"full", "Fill"},
      {"zeros", "Fill"},
      {"ones", "Fill"},
      {"fill", "Fill"},
      {"zero", "ZerosLike"},
      {"full_like", "Fill"},
      {"zeros_like", "ZerosLike"},
      {"ones_like", "OnesLike"},
      {"empty", "Empty"},
      {"empty_like", "Empty"},
      {"eye", "Eye"},
      {"rand", "RandomUniform"},
      {"rand_like", "RandomUniform"},
      {"uniform", "RandomUniform"},
      {"randn", "RandomStandardNormal"},
      {"randn_like", "RandomStandardNormal"},
      {"normal", "Normal"},
      {"multinomial", "Multinomial"},
      {"bernoulli", "Bernoulli"},
      {"native_dropout", "Dropout"},
      // collectives
      {"all_reduce", "HcomAllReduce"},
      {"all_gather_into_tensor", "HcomAllGather"},
      {"reduce_scatter_tensor", "HcomReduceScatter"},
      {"all_to_all_single", "HcomAllToAllV"},
      {"broadcast", "HcomBroadcast"},
  };
  return table;
}

}  // namespace

std::string ge_type(std::string_view aten_name) {
  size_t first = aten_name.find('.');
  if (first == std::string_view::npos) return std::string(aten_name);
  std::string_view library = aten_name.substr(0, first);
  // Other libraries may use the same words for something else.
  if (library != "aten" && library != "_c10d_functional") return std::string(aten_name);
  std::string_view name = aten_name.substr(first + 1);
  name = name.substr(0, name.find('.'));
  auto found = type_table().find(name);
  if (found == type_table().end() && name.size() > 1 && name.back() == '_') {
    found = type_table().find(name.substr(0, name.size() - 1));
  }
  return std::string(found == type_table().end() ? aten_name : found->second);
}

std::string_view ge_dtype(DType dtype) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.dtype == dtype) return entry.name;
  }
  return "DT_UNDEFINED";
}

std::optional<DType> from_ge_dtype(std::string_view name) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

}  // namespace anabranch::formats
